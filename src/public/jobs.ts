import "../base/check-node.ts";
import { randomUUID } from "node:crypto";
import { basename, resolve } from "node:path";
import { systemClock } from "../base/clock.ts";
import { readHost, type Host } from "../base/host.ts";
import { silentLog } from "../base/log.ts";
import { followSignal } from "../engine/abort-reason.ts";
import type { ProviderModule } from "../environments/environment.ts";
import { loadProviderModule } from "../environments/registry.ts";
import type { DatasetRef } from "../jobs/config/job.ts";
import { defineJob, loadJob } from "../jobs/config/load-job.ts";
import { prepareJob, type PrepareOptions } from "../jobs/prepare-job.ts";
import { loadRecordedJob, recordedSelection } from "../jobs/resume/load-recorded-job.ts";
import { openEarlierWork } from "../jobs/resume/open-earlier-work.ts";
import { planSession, type SessionWishes } from "../jobs/resume/plan-session.ts";
import type { JobRun, RunJobOptions as RunOptions } from "../jobs/job-run.ts";
import { runPreparedJob } from "../jobs/run-job.ts";
import { loadDataset as loadDatasetWith } from "../jobs/tasks/load-datasets.ts";
import { loadTask as loadTaskWith } from "../jobs/tasks/load-task.ts";
import { readRegistry as readRegistryWith } from "../jobs/tasks/read-registry.ts";
import type { RegistryEntry } from "../jobs/tasks/registry.ts";
import type { TaskSelection } from "../jobs/tasks/select-tasks.ts";
import type { Dataset, TaskEntry } from "../jobs/tasks/task.ts";
import type { RunListener } from "../store/run.ts";
import type { Store } from "../store/store.ts";
import { readOrigin } from "./read-origin.ts";

export { RolloutError } from "../base/rollout-error.ts";
export type { Problem } from "../base/problem.ts";
export { readJob, type JobRecord } from "../jobs/output/read-job.ts";
export type { Difference } from "../jobs/output/comparison.ts";
export { verifyJob, type Verification } from "../jobs/output/verify-job.ts";
export type { JobResultFile } from "../jobs/output/job-result-schema.ts";
export type { TrialResultFile } from "../jobs/output/trial-result-schema.ts";
export type * from "../store/run.ts";
export type { BrokenTask, Dataset, ReadyTask, TaskEntry } from "../jobs/tasks/task.ts";
export type { JobRun, TaskSelection };

export interface RunJobOptions {
  /** Cancels the job: running trials are terminated and cleaned up, the others are skipped. */
  readonly signal?: AbortSignal | undefined;
  readonly onEvent?: RunListener | undefined;
  /** What relative paths in a job given as an object start from; the working directory when absent. */
  readonly baseDir?: string | undefined;
  /** Providers given in code, by the name that `environment.type` uses. */
  readonly environments?: Readonly<Record<string, ProviderModule>> | undefined;
  readonly selection?: Partial<TaskSelection> | undefined;
  /** Where the job registers itself and its trials, beside its directory. Default: nowhere. */
  readonly storage?: Store | undefined;
  readonly description?: string | undefined;
  readonly tags?: Readonly<Record<string, string>> | undefined;
}

const everything: TaskSelection = {
  include: [],
  exclude: [],
  tags: [],
  categories: [],
  limit: null,
  sample: null,
  seed: 0,
};

/** Runs a job given as a file or as an object in the words of a job file; rejects only before anything has started. */
export async function runJob(
  config: string | Readonly<Record<string, unknown>>,
  options: RunJobOptions = {},
): Promise<JobRun> {
  const host = readHost(process);
  const signal = followSignal(options.signal, "the job");
  const job =
    typeof config === "string"
      ? await loadJob(config, [], host)
      : defineJob(config, resolve(options.baseDir ?? host.cwd), [], host);
  const shared = { host, clock: systemClock, signal, runId: randomUUID() };
  await using prepared = await prepareJob(job, {
    ...shared,
    log: silentLog,
    selection: { ...everything, ...options.selection },
    loadProvider: providersOf(options),
    onProgress: () => {},
  });
  await prepared.probe();
  return await runPreparedJob(prepared, {
    ...shared,
    ...listeners(options),
    ...(await recordOf(options, host)),
    session: null,
  });
}

export interface ResumeJobOptions extends Pick<
  RunJobOptions,
  "signal" | "onEvent" | "environments" | "storage" | "description" | "tags"
> {
  /** Which failed trials run again as well: all, or those with one of these error types. */
  readonly retryFailed?: SessionWishes["retryFailed"] | undefined;
  /** Runs the rest although the job's tasks are not what they were. */
  readonly acceptChanges?: boolean | undefined;
}

async function recordOf(
  { storage, description, tags }: Pick<RunJobOptions, "storage" | "description" | "tags">,
  host: Host,
): Promise<Pick<RunOptions, "origin" | "registry">> {
  const origin = await readOrigin(host);
  return {
    origin: { ...origin, description: description ?? null, tags: tags ?? {} },
    registry: storage?.runs,
  };
}

/** Runs what is left of the job in a directory; rejects only before anything has started. */
export async function resumeJob(directory: string, options: ResumeJobOptions = {}): Promise<JobRun> {
  const host = readHost(process);
  const shared = { host, clock: systemClock, signal: followSignal(options.signal, "the job"), runId: randomUUID() };
  await using earlier = await openEarlierWork(resolve(directory), shared);
  await using prepared = await prepareJob(loadRecordedJob(earlier, [], host), {
    ...shared,
    log: silentLog,
    selection: recordedSelection(earlier),
    loadProvider: providersOf(options),
    onProgress: () => {},
  });
  const { retryFailed = [], acceptChanges = false } = options;
  const session = await planSession(prepared, earlier, { retryFailed, acceptChanges, signal: shared.signal });
  await prepared.probe();
  return await runPreparedJob(prepared, {
    ...shared,
    ...listeners(options),
    ...(await recordOf(options, host)),
    session,
  });
}

function providersOf({ environments }: Pick<RunJobOptions, "environments">): PrepareOptions["loadProvider"] {
  return async (type, baseDir) => environments?.[type] ?? loadProviderModule(type, baseDir);
}

function listeners({ onEvent }: Pick<RunJobOptions, "onEvent">): Pick<RunOptions, "forceSignal" | "onEvent" | "onLog"> {
  return { forceSignal: new AbortController().signal, onEvent: onEvent ?? (() => {}), onLog: () => {} };
}

/** The task in a directory: ready to run, or broken with every problem it has. */
export function loadTask(directory: string, options: { readonly signal?: AbortSignal } = {}): Promise<TaskEntry> {
  const path = resolve(directory);
  return loadTaskWith({
    directory: path,
    name: basename(path),
    datasetName: "tasks",
    gitCommitId: null,
    signal: followSignal(options.signal, "loading"),
  });
}

/** A dataset by its directory, or by registry, name and version. */
export function loadDataset(ref: DatasetRef, options: { readonly signal?: AbortSignal } = {}): Promise<Dataset> {
  return loadDatasetWith(ref, {
    host: readHost(process),
    clock: systemClock,
    signal: followSignal(options.signal, "loading"),
    log: silentLog,
  });
}

/** The datasets that a registry file or address lists. */
export function readRegistry(
  ref: { readonly path: string } | { readonly url: string },
  options: { readonly signal?: AbortSignal } = {},
): Promise<RegistryEntry[]> {
  return readRegistryWith(ref, { signal: followSignal(options.signal, "reading"), clock: systemClock });
}
