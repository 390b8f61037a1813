import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import type { Host } from "../base/host.ts";
import type { Log } from "../base/log.ts";
import { formatPath, type Problem } from "../base/problem.ts";
import { createRedactor, type Redactor, type Secret } from "../base/redactor.ts";
import { RolloutError, type ErrorCode } from "../base/rollout-error.ts";
import type {
  Capacity,
  EnvironmentProvider,
  NetworkPolicy,
  ProviderModule,
  TaskCheck,
  TaskEnvironment,
} from "../environments/environment.ts";
import { checkProviderConfig } from "../environments/provider-config.ts";
import { askAdapter } from "./ask-adapter.ts";
import type { Job } from "./config/job.ts";
import { planTrials, type TaskImage } from "./plan-trials.ts";
import { capacityWarnings, fitWarnings } from "./capacity-warnings.ts";
import { fitConcurrency } from "./fit-concurrency.ts";
import { startWarnings } from "./start-warnings.ts";
import { loadDatasets } from "./tasks/load-datasets.ts";
import { selectTasks, type TaskSelection } from "./tasks/select-tasks.ts";
import type { Dataset, ReadyTask } from "./tasks/task.ts";
import { planResources } from "./trial/limits.ts";
import type { Trial } from "./trial/trial.ts";

const taskFaults: readonly ErrorCode[] = ["io_failed", "config_invalid"];

export interface PrepareOptions {
  readonly host: Host;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly log: Log;
  readonly runId: string;
  readonly selection: TaskSelection;
  readonly loadProvider: (type: string, baseDir: string) => Promise<ProviderModule>;
  /** Told what takes time before the first trial: fetching registries and tasks. */
  readonly onProgress: (line: string) => void;
}

/** A job of which everything is known and nothing has started. Dispose it to close its provider. */
export interface PreparedJob extends AsyncDisposable {
  /** After `probe` with as many trials at once as the environment's machine has room for, unless somebody chose how many. */
  readonly job: Job;
  readonly datasets: readonly Dataset[];
  readonly provider: EnvironmentProvider;
  readonly trials: readonly Trial[];
  readonly redactor: Redactor;
  readonly secrets: readonly Secret[];
  /** Every problem of every task; their trials fail, their siblings run. */
  readonly taskProblems: readonly Problem[];
  /** What a person should know before the start, each once; probing may add to it. */
  readonly warnings: readonly string[];
  /** Which tasks were asked for; null when it is all of them. */
  readonly selection: Readonly<Record<string, unknown>> | null;
  /** Asks the engine behind the provider whether it can work; rejects with the remedy. */
  probe(): Promise<void>;
}

/** Loads everything a job names and checks it against its provider; rejects with a configuration error before anything starts. */
export async function prepareJob(job: Job, options: PrepareOptions): Promise<PreparedJob> {
  const { host, clock, signal, log } = options;
  const module = await findProvider(job, options);
  const config = await checkConfig(job, module);
  const loaded = await loadDatasets(job.datasets, { host, clock, signal, log, onProgress: options.onProgress });
  const datasets = selectTasks(loaded, options.selection);
  const selection = describeSelection(options.selection);
  const redactor = createRedactor(job.secrets);
  const { baseDir, timeoutMultiplier } = job;
  const opening = { config, baseDir, timeoutMultiplier, host, clock, redactor, log, signal };
  const provider = await askAdapter(module.name, "open", () => module.open(opening));
  try {
    checkAbilities(job, provider);
    const images = await checkTasks(job, datasets, provider, signal);
    const plan = planTrials({ job, datasets, runId: options.runId, env: host.env, imageOf: (task) => images.of(task) });
    const secrets = [...job.secrets, ...plan.secrets];
    const warnings = [
      ...selectionWarnings(selection, loaded, datasets),
      ...images.warnings,
      ...startWarnings(job, datasets, provider, secrets),
    ];
    let fitted = job;
    return {
      get job() {
        return fitted;
      },
      datasets,
      provider,
      trials: plan.trials,
      redactor: createRedactor(secrets),
      secrets,
      taskProblems: datasets.flatMap((dataset) =>
        dataset.tasks.flatMap((task) => (task.status === "broken" ? task.problems : [])),
      ),
      warnings,
      selection,
      async probe() {
        await askAdapter(provider.name, "probe", () => provider.probe(signal)).catch((error: unknown) => {
          throw placeSettings(job, error);
        });
        checkAbilities(job, provider);
        const ask = async (): Promise<Capacity | null> => (await provider.capacity?.(signal)) ?? null;
        const capacity = await askAdapter(provider.name, "capacity", ask);
        fitted = fitConcurrency(job, plan.trials, capacity);
        warnings.push(...fitWarnings(job, fitted, capacity), ...capacityWarnings(fitted, plan.trials, capacity));
      },
      [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose](),
    };
  } catch (error) {
    await provider[Symbol.asyncDispose]();
    throw error;
  }
}

async function findProvider(job: Job, options: PrepareOptions): Promise<ProviderModule> {
  try {
    return await options.loadProvider(job.environment.type, job.baseDir);
  } catch (error) {
    if (!(error instanceof RolloutError) || error.problems.length > 0) throw error;
    const path = ["environment", "type"];
    const problem: Problem = {
      ...job.placeOf(path),
      path: formatPath(path),
      message: error.message,
      severity: "error",
    };
    throw new RolloutError(error.code, "the job's environment cannot be used; nothing was started", {
      problems: [problem],
      hint: error.hint,
      cause: error,
    });
  }
}

async function checkConfig(job: Job, module: ProviderModule): Promise<unknown> {
  const checked = await checkProviderConfig(module, job.environment.providerConfig);
  if (checked.issues === undefined) return checked.value;
  const problems = checked.issues.map((issue): Problem => {
    const path = ["environment", "provider_config", ...issue.path];
    return { ...job.placeOf(path), path: formatPath(path), message: issue.message, severity: "error" };
  });
  throw new RolloutError(
    "config_invalid",
    `provider_config does not fit environment type "${module.name}"; nothing was started`,
    { problems },
  );
}

// An adapter knows its settings, but not where a person wrote them.
function placeSettings(job: Job, error: unknown): unknown {
  if (!(error instanceof RolloutError) || error.code !== "config_invalid" || error.problems.length === 0) return error;
  const problems = error.problems.map((problem): Problem => {
    const inside = (problem.path ?? "").match(/[^.[\]"]+/g) ?? [];
    const path = [
      "environment",
      "provider_config",
      ...inside.map((part) => (/^\d+$/.test(part) ? Number(part) : part)),
    ];
    return { ...problem, ...job.placeOf(path), path: formatPath(path) };
  });
  const { message, hint, code } = error;
  return new RolloutError(code, message, { problems, hint, cause: error });
}

function checkAbilities(job: Job, provider: EnvironmentProvider): void {
  const problems = [...networkProblems(job, provider), ...pidsProblems(job, provider), ...cacheProblems(job, provider)];
  if (problems.length === 0) return;
  throw new RolloutError("config_invalid", "the environment cannot do what the job asks; nothing was started", {
    problems,
    hint: "`rollout doctor` says what is missing",
  });
}

function cacheProblems(job: Job, { name, capabilities }: EnvironmentProvider): Problem[] {
  if (capabilities.snapshots === true) return [];
  return job.agents.flatMap(({ isCached }, index): Problem[] => {
    const path = ["agents", index, "cache"];
    const message = `environment "${name}" cannot save an install as it is set up; leave cache out`;
    return isCached ? [{ ...job.placeOf(path), path: formatPath(path), message, severity: "error" }] : [];
  });
}

function pidsProblems(job: Job, { name, capabilities }: EnvironmentProvider): Problem[] {
  if (job.environment.pidsLimit === null || (capabilities.limits.pids ?? "none") !== "none") return [];
  const path = ["environment", "pids_limit"];
  const message = `environment "${name}" cannot limit the number of processes; leave pids_limit out`;
  return [{ ...job.placeOf(path), path: formatPath(path), message, severity: "error" }];
}

function networkProblems(job: Job, provider: EnvironmentProvider): Problem[] {
  return Object.entries(job.environment.network).flatMap(([phase, policy]: [string, NetworkPolicy]): Problem[] => {
    const kind = typeof policy === "object" ? "allow" : policy;
    if (kind === "full" || provider.capabilities.network.includes(kind)) return [];
    const can = ["full", ...provider.capabilities.network].join(", ");
    const path = ["environment", "network", phase];
    const message = `environment "${provider.name}" cannot enforce "${kind}"; it can: ${can}`;
    return [{ ...job.placeOf(path), path: formatPath(path), message, severity: "error" }];
  });
}

async function checkTasks(
  job: Job,
  datasets: readonly Dataset[],
  provider: EnvironmentProvider,
  signal: AbortSignal,
): Promise<{ of(task: ReadyTask): TaskImage; warnings: readonly string[] }> {
  const images = new Map<ReadyTask, TaskImage>();
  const warnings = new Set<string>();
  for (const task of datasets.flatMap((dataset) => dataset.tasks)) {
    if (task.status === "broken") continue;
    const check = await checkTask(job, task, provider, signal);
    for (const warning of check.warnings) warnings.add(warning);
    images.set(task, check.image ? { plan: check.image } : { problem: check.problems.join("; ") });
  }
  return {
    of: (task) => images.get(task) ?? { problem: "the environment gave no verdict on this task" },
    warnings: [...warnings],
  };
}

async function checkTask(
  job: Job,
  task: ReadyTask,
  provider: EnvironmentProvider,
  signal: AbortSignal,
): Promise<TaskCheck> {
  const contextDir = join(task.directory, "environment");
  const asked: TaskEnvironment = {
    taskName: task.name,
    contextDir: existsSync(contextDir) ? contextDir : null,
    dockerImage: task.config.environment.dockerImage,
    forceBuild: job.environment.forceBuild,
    limits: planResources(job, task.config),
  };
  try {
    return await askAdapter(provider.name, "checkTask", () => provider.checkTask(asked, signal));
  } catch (error) {
    // What cannot be read of one task does not concern its neighbours.
    if (!(error instanceof RolloutError) || !taskFaults.includes(error.code)) throw error;
    return { problems: [error.message], warnings: [], image: null };
  }
}

// Only what was really asked for, in the words of the command line.
function describeSelection(selection: TaskSelection): Record<string, unknown> | null {
  const { include, exclude, tags, categories, limit, sample, seed } = selection;
  const asked: Record<string, unknown> = {};
  for (const [name, words] of Object.entries({ task: include, exclude, task_tag: tags, category: categories })) {
    if (words.length > 0) asked[name] = words;
  }
  if (limit !== null) asked["limit"] = limit;
  if (sample !== null) Object.assign(asked, { sample, seed });
  return Object.keys(asked).length > 0 ? asked : null;
}

function selectionWarnings(
  selection: Readonly<Record<string, unknown>> | null,
  all: readonly Dataset[],
  kept: readonly Dataset[],
): string[] {
  if (selection === null) return [];
  const count = (datasets: readonly Dataset[]): number =>
    datasets.reduce((sum, dataset) => sum + dataset.tasks.length, 0);
  if (count(kept) === count(all)) return [];
  return [`only ${count(kept)} of ${count(all)} tasks were selected: ${JSON.stringify(selection)}`];
}
