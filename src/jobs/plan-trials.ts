import { createHash } from "node:crypto";
import { toPathSegment } from "../base/path-segment.ts";
import { RolloutError } from "../base/rollout-error.ts";
import type { Secret } from "../base/redactor.ts";
import type { ImagePlan } from "../environments/environment.ts";
import { expandTree } from "./config/expand-env.ts";
import type { Job } from "./config/job.ts";
import { trialKey } from "./output/job-paths.ts";
import type { Dataset, ReadyTask, TaskEntry } from "./tasks/task.ts";
import type { Trial } from "./trial/trial.ts";

/** What is known of a task's image before the start: a plan, or why there can be none. */
export type TaskImage = { readonly plan: ImagePlan } | { readonly problem: string };

export interface PlanOptions {
  readonly job: Job;
  readonly datasets: readonly Dataset[];
  readonly runId: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The provider's verdict on each ready task. */
  readonly imageOf: (task: ReadyTask) => TaskImage;
}

export interface TrialPlan {
  readonly trials: readonly Trial[];
  /** Values of variables that tasks asked for. */
  readonly secrets: readonly Secret[];
}

/** Every (agent, task, attempt) in the order A1-T1-1, A1-T1-2, …; a pure function of what it is given. */
export function planTrials(options: PlanOptions): TrialPlan {
  const { job, datasets } = options;
  checkTaskNames(datasets);
  checkSize(job, datasets);
  const prepared = datasets.flatMap((dataset) =>
    dataset.tasks.map((task) => ({ dataset, task, ...prepareTask(task, options) })),
  );
  const trials: Trial[] = [];
  for (const agent of job.agents) {
    for (const { dataset, task, image, verifierEnv, problem } of prepared) {
      const refusal = problem ?? (agent.name === "oracle" ? oracleProblem(task) : null);
      for (let attempt = 1; attempt <= job.nAttempts; attempt++) {
        const index = trials.length;
        trials.push({
          index,
          key: trialKey(agent.name, dataset.name, task.name, attempt),
          id: trialId(options.runId, index),
          agent,
          task,
          datasetName: dataset.name,
          datasetVersion: dataset.version,
          attempt,
          image,
          verifierEnv,
          refusal: refusal === null ? null : { type: "task_invalid", message: refusal },
        });
      }
    }
  }
  return { trials, secrets: prepared.flatMap((entry) => entry.secrets) };
}

interface PreparedTask {
  readonly image: ImagePlan | null;
  readonly verifierEnv: Readonly<Record<string, string>>;
  readonly secrets: readonly Secret[];
  readonly problem: string | null;
}

function prepareTask(task: TaskEntry, { job, env, imageOf }: PlanOptions): PreparedTask {
  if (task.status === "broken") return { image: null, verifierEnv: {}, secrets: [], problem: null };
  const image = imageOf(task);
  const missing = missingVerifierVariables(task, job.verifier.env, env);
  const own = expandTree(withoutKeys(task.config.verifier.env, job.verifier.env), env);
  const verifierEnv = { ...(own.value as Record<string, string>), ...job.verifier.env };
  const problem =
    "problem" in image
      ? image.problem
      : (networkProblem(task, job.environment.networkSetFor) ?? describeMissing(missing));
  return { image: "plan" in image ? image.plan : null, verifierEnv, secrets: own.secrets, problem };
}

/** Variables that a task's own `[verifier.env]` needs and nobody gives. */
export function missingVerifierVariables(
  task: ReadyTask,
  given: Readonly<Record<string, string>>,
  env: PlanOptions["env"],
): string[] {
  const { missing } = expandTree(withoutKeys(task.config.verifier.env, given), env);
  return [...new Set(missing.map(({ name }) => name))];
}

/** What to say about variables nobody gives; null when there are none. */
export function describeMissing(names: readonly string[]): string | null {
  if (names.length === 0) return null;
  return `the task's [verifier.env] needs ${names.join(", ")}, which nobody gives; export it, or set it in the job's verifier.env`;
}

function withoutKeys(
  table: Readonly<Record<string, string>>,
  keys: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(table).filter(([key]) => !(key in keys)));
}

function oracleProblem(task: TaskEntry): string | null {
  if (task.status === "broken") return null;
  if (!task.hasSolution) return "the task has no solution/solve.sh, so the oracle cannot run it";
  return task.config.hasSolutionEnv
    ? "task.toml solution.env is not supported: the solution would run without its variables"
    : null;
}

/** Reports the key that restricts the network in a phase for which the job sets no policy. */
export function networkProblem({ config }: ReadyTask, setFor: Job["environment"]["networkSetFor"]): string | null {
  for (const phase of ["agent", "verifier"] as const) {
    const demand = config.networkDemands[phase];
    if (demand === null || setFor.includes(phase)) continue;
    const key = `task.toml ${demand.key} = ${JSON.stringify(demand.value)}`;
    return `${key} restricts the network of the ${phase}; set environment.network.${phase} in the job to choose a policy`;
  }
  return null;
}

/** Unique for every trial of every run, and a safe host name however long the trial's own names are. */
function trialId(runId: string, index: number): string {
  const run = createHash("sha256").update(runId).digest("hex").slice(0, 10);
  return `rollout-${run}-${index}`;
}

// More would fill the memory with a plan that nobody means.
const mostTrials = 1_000_000;

function checkSize(job: Job, datasets: readonly Dataset[]): void {
  const tasks = datasets.reduce((sum, dataset) => sum + dataset.tasks.length, 0);
  const trials = job.agents.length * tasks * job.nAttempts;
  if (trials <= mostTrials) return;
  throw new RolloutError("config_invalid", `the job would have ${trials} trials; the most is ${mostTrials}`, {
    hint: `${job.agents.length} agents x ${tasks} tasks x ${job.nAttempts} attempts: lower n_attempts or select tasks`,
  });
}

function checkTaskNames(datasets: readonly Dataset[]): void {
  for (const dataset of datasets) {
    const seen = new Map<string, string>();
    for (const { name } of dataset.tasks) {
      const folder = toPathSegment(name).toLowerCase();
      const other = seen.get(folder);
      if (other !== undefined) {
        throw new RolloutError(
          "config_invalid",
          `dataset "${dataset.name}" has two tasks that would share one folder: "${other}" and "${name}"`,
          { hint: "give one of them another name" },
        );
      }
      seen.set(folder, name);
    }
  }
}
