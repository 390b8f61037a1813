import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { systemClock, type Clock } from "../../base/clock.ts";
import { readHost, type Host } from "../../base/host.ts";
import { silentLog, type LogEntry } from "../../base/log.ts";
import { AbortReason } from "../../engine/abort-reason.ts";
import type {
  Capabilities,
  Environment,
  EnvironmentProvider,
  OpenProviderOptions,
  ProviderModule,
} from "../../environments/environment.ts";
import type { FaultHook } from "../../environments/memory/fault-gate.ts";
import type { MemoryCall } from "../../environments/memory/memory-handler.ts";
import { createMemoryProvider } from "../../environments/memory/memory-provider.ts";
import type { RunEvent, RunOrigin } from "../../store/run.ts";
import type { RunStore } from "../../store/run-store.ts";
import { defineJob } from "../config/load-job.ts";
import type { JobResultFile } from "../output/job-result-schema.ts";
import type { TrialResultFile } from "../output/trial-result-schema.ts";
import { prepareJob, type PreparedJob } from "../prepare-job.ts";
import { openEarlierWork } from "../resume/open-earlier-work.ts";
import { planSession, type SessionWishes } from "../resume/plan-session.ts";
import type { JobRun } from "../job-run.ts";
import { runPreparedJob } from "../run-job.ts";
import type { TaskSelection } from "../tasks/select-tasks.ts";
import { findAct, type Ending, type JobScript, type RigCall } from "./acts.ts";
import { listFiles, makeRoot, writeTask, type TaskSpec } from "./temp-files.ts";

export interface RigOptions {
  /** Put over the rig's own job: agent `a`, dataset `set`, name `job`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Tasks of the dataset `set`; one called `one` when absent. */
  readonly tasks?: Readonly<Record<string, TaskSpec>>;
  /** Instead of `tasks`, when there are several datasets. */
  readonly datasets?: Readonly<Record<string, Readonly<Record<string, TaskSpec>>>>;
  readonly script?: JobScript;
  readonly faults?: FaultHook;
  readonly capabilities?: Partial<Capabilities>;
  readonly pricePerHour?: number;
  readonly clock?: Clock;
  readonly env?: Readonly<Record<string, string>>;
  readonly selection?: Partial<TaskSelection>;
  /** Sees every environment before its trial does. */
  readonly onEnvironment?: (environment: Environment) => void;
  /** Sees every command before its script answers it. */
  readonly onCall?: (call: RigCall) => void;
  readonly onEvent?: (event: RunEvent) => void;
  /** The store in which the job registers itself. */
  readonly registry?: RunStore;
  readonly origin?: Partial<RunOrigin>;
  readonly onPrepared?: (prepared: PreparedJob) => void;
  /** Sees what the provider is opened with. */
  readonly onOpen?: (options: OpenProviderOptions) => void;
  /** Takes up the job that `root` holds already. */
  readonly resume?: Partial<SessionWishes>;
  /** Where everything stands; a fresh temporary directory when absent. */
  readonly root?: string;
}

/** A job that ran to its end, and what it left on disk. */
export interface FinishedJob {
  readonly run: JobRun;
  readonly result: JobResultFile;
  /** The result.json of a trial, by its key. */
  trial(key: string): TrialResultFile;
  /** A file of the job directory. */
  text(path: string): string;
  has(path: string): boolean;
  /** Every file of the job directory, sorted. */
  tree(): string[];
}

/** A job while it runs. */
export interface RunningJob {
  readonly root: string;
  readonly jobDir: string;
  readonly events: RunEvent[];
  readonly logs: LogEntry[];
  readonly provider: () => EnvironmentProvider;
  readonly finished: Promise<FinishedJob>;
  /** As the first signal would. */
  cancel(): void;
  /** As the second signal would. */
  force(): void;
}

/** The trial that the rig's own job has. */
export const onlyTrial = "a/set/one__1";

/** Starts a job on the memory provider; it runs by itself until its end. */
export function startJob(options: RigOptions = {}): RunningJob {
  const root = options.root ?? makeRoot();
  const datasets = options.datasets ?? { set: options.tasks ?? { one: {} } };
  for (const [dataset, tasks] of Object.entries(datasets)) {
    for (const [name, spec] of Object.entries(tasks)) writeTask(join(root, dataset, name), spec);
  }
  const config: Record<string, unknown> = {
    name: "job",
    ...baseConfig(root, Object.keys(datasets)),
    ...options.config,
  };
  const jobDir = join(root, "jobs", String(config["name"]));
  const host: Host = { ...readHost(process), cwd: root, env: { ...options.env } };
  const events: RunEvent[] = [];
  const logs: LogEntry[] = [];
  const stop = new AbortController();
  const force = new AbortController();
  let provider: EnvironmentProvider | undefined;

  const run = async (): Promise<FinishedJob> => {
    const shared = {
      host,
      clock: options.clock ?? systemClock,
      signal: stop.signal,
      runId: options.resume ? randomUUID() : "run-1",
    };
    const module = rigProvider(options, jobDir, (opened) => (provider = opened));
    await using prepared = await prepareJob(defineJob(config, root, [], host), {
      ...shared,
      log: silentLog,
      selection: { ...everything, ...options.selection },
      loadProvider: async () => module,
      onProgress: () => {},
    });
    options.onPrepared?.(prepared);
    const onEvent = (event: RunEvent): void => {
      events.push(event);
      options.onEvent?.(event);
    };
    const origin = { description: null, tags: {}, git: null, rolloutVersion: "0.0.0", ...options.origin };
    const onLog = (entry: LogEntry): void => void logs.push(entry);
    await using earlier = options.resume ? await openEarlierWork(jobDir, shared) : null;
    const wishes = { retryFailed: [], acceptChanges: false, signal: stop.signal, ...options.resume };
    const session = earlier && (await planSession(prepared, earlier, wishes));
    const { registry } = options;
    return finishedJob(
      await runPreparedJob(prepared, {
        ...shared,
        forceSignal: force.signal,
        session,
        onEvent,
        onLog,
        origin,
        registry,
      }),
    );
  };
  const finished = run();
  // A test may look at it only after other things have happened.
  finished.catch(() => {});
  return {
    root,
    jobDir,
    events,
    logs,
    provider: () => provider ?? fail("the provider was not opened"),
    finished,
    cancel: () => stop.abort(new AbortReason("cancelled", "the job was cancelled by SIGINT")),
    force: () => force.abort(new AbortReason("cancelled", "the cleaning up was cut short by a second SIGINT")),
  };
}

/** Runs a job on the memory provider to its end. */
export function runJobOnRig(options: RigOptions = {}): Promise<FinishedJob & Pick<RunningJob, "events" | "root">> {
  const job = startJob(options);
  return job.finished.then((finished) => ({ ...finished, events: job.events, root: job.root }));
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

function baseConfig(root: string, datasets: readonly string[]): Record<string, unknown> {
  return {
    jobs_dir: join(root, "jobs"),
    environment: { type: "memory" },
    agents: [{ name: "a", execute: "work" }],
    datasets: datasets.map((path) => ({ path })),
  };
}

function rigProvider(
  options: RigOptions,
  jobDir: string,
  onOpen: (provider: EnvironmentProvider) => void,
): ProviderModule {
  const environments = new Map<string, Environment>();
  const answer = async (call: MemoryCall): Promise<Ending> => {
    const key = call.labels["rollout.trial-key"] ?? fail("an environment has no trial");
    const environment = environments.get(call.environmentId) ?? fail("a command ran in an unknown environment");
    const isTest = call.command.some((word) => word.includes("/tests/test.sh"));
    const act = findAct(options.script ?? {}, isTest ? "/tests/test.sh" : (call.command.at(-1) ?? ""));
    const rigCall = { ...call, key, trialDir: join(jobDir, key), environment };
    options.onCall?.(rigCall);
    return act(rigCall);
  };
  return {
    name: "memory",
    configSchema: { "~standard": { version: 1, vendor: "rig", validate: (value) => ({ value }) } },
    async open(given) {
      const { clock } = given;
      options.onOpen?.(given);
      const { faults, capabilities, pricePerHour } = options;
      const provider = createMemoryProvider({ handler: answer, clock, faults, capabilities, pricePerHour });
      const create = provider.createEnvironment.bind(provider);
      provider.createEnvironment = async (request) => {
        const environment = await create(request);
        environments.set(environment.id, environment);
        options.onEnvironment?.(environment);
        return environment;
      };
      onOpen(provider);
      return provider;
    },
  };
}

function finishedJob(run: JobRun): FinishedJob {
  return {
    run,
    result: JSON.parse(readFileSync(join(run.dir, "result.json"), "utf8")) as JobResultFile,
    trial: (key) => JSON.parse(readFileSync(join(run.dir, key, "result.json"), "utf8")) as TrialResultFile,
    text: (path) => readFileSync(join(run.dir, path), "utf8"),
    has: (path) => existsSync(join(run.dir, path)),
    tree: () => listFiles(run.dir),
  };
}

function fail(message: string): never {
  throw new Error(message);
}
