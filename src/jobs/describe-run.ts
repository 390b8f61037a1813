import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import type { Host } from "../base/host.ts";
import { shellWord, shownPath } from "../base/shown-path.ts";
import type { PlannedGroup, RunHead, RunTail } from "../store/run.ts";
import { ownerLabels } from "./abandoned-environments.ts";
import type { JobEndedLine, JobStartedLine } from "./output/job-journal.ts";
import type { JobResultFile } from "./output/job-result-schema.ts";
import type { PreparedJob } from "./prepare-job.ts";

export interface RunIdentity {
  readonly runId: string;
  readonly host: Host;
  readonly clock: Clock;
}

/** How every report lays a job out. */
export const jobShape = {
  groupBy: ["agent", "dataset"],
  itemLabel: "task",
  markName: "reward",
  passAt: 1,
  unitNoun: "trial",
} as const;

/** What to type after a job; a trial that failed is worth a look before all else. */
export function nextCommands(dir: string, cwd: string, failedKey: string | null): string[] {
  const show = (path: string): string => `rollout show ${shellWord(shownPath(path, cwd))}`;
  return failedKey === null ? [show(dir)] : [show(join(dir, failedKey)), show(dir)];
}

/** What to type to enter the environment that a trial kept. */
export function enterCommand(trialDir: string, cwd: string): string {
  return `rollout enter ${shellWord(shownPath(trialDir, cwd))}`;
}

/** Who runs the job, for the lock file. */
export function ownerOf({ host, runId, clock }: RunIdentity): Record<string, unknown> {
  return {
    run_id: runId,
    pid: host.pid,
    hostname: host.hostname,
    boot_id: host.bootId,
    started_at: new Date(clock.now()).toISOString(),
  };
}

/** What every environment of a run carries, so that one left behind is found again. */
export function environmentLabels({ host, runId }: RunIdentity, jobName: string): Record<string, string> {
  return { "rollout.run": runId, "rollout.job": jobName, ...ownerLabels(host) };
}

/** The first line of the journal. */
export function startedLine(
  prepared: PreparedJob,
  { host, runId }: RunIdentity,
  name: string,
  startedAt: number,
): JobStartedLine {
  const { job, datasets } = prepared;
  return {
    type: "job_started",
    schema_version: 1,
    run_id: runId,
    job_name: name,
    job_file: job.file,
    started_at: new Date(startedAt).toISOString(),
    pid: host.pid,
    hostname: host.hostname,
    boot_id: host.bootId,
    n_concurrent_trials: job.nConcurrentTrials,
    metrics: job.metrics,
    has_verifier: !job.verifier.disable,
    agents: job.agents.map((agent) => agent.name),
    tasks: datasets.flatMap((dataset) => dataset.tasks.map((task) => ({ dataset: dataset.name, task: task.name }))),
    n_attempts: job.nAttempts,
    selection: prepared.selection,
    warnings: prepared.warnings,
  };
}

/** The head of the run that events begin with. */
export function headOf(prepared: PreparedJob, runId: string, name: string, dir: string): RunHead {
  const { job, datasets, trials } = prepared;
  const groups = job.agents.flatMap((agent) =>
    datasets.map((dataset): PlannedGroup => ({
      labels: { agent: agent.name, dataset: dataset.name },
      total: dataset.tasks.length * job.nAttempts,
    })),
  );
  return {
    id: runId,
    kind: "job",
    name,
    total: trials.length,
    groups,
    concurrency: job.nConcurrentTrials,
    shape: jobShape,
    metrics: job.metrics,
    location: dir,
  };
}

/** The last line of the journal. */
export function endedLine(result: JobResultFile, endedAt: number, skipped: readonly number[]): JobEndedLine {
  return {
    type: "job_ended",
    ended_at: new Date(endedAt).toISOString(),
    duration_sec: result.total_duration_sec,
    cancelled: result.cancelled,
    stopped_by_budget: result.stopped_by_budget,
    skipped,
    warnings: result.warnings,
  };
}

/** How the run ended, for the event that ends it. */
export function tailOf(result: JobResultFile, next: readonly string[]): RunTail {
  const status = result.cancelled ? "cancelled" : result.stopped_by_budget ? "budget_exhausted" : "completed";
  return { status, skipped: result.skipped_trials, durationSec: result.total_duration_sec, next };
}
