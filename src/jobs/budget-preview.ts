import { max, sum } from "../analysis/aggregates.ts";
import type { PlannedBudget } from "../store/run.ts";
import type { Job } from "./config/job.ts";
import type { BudgetedTrials } from "./describe-budget.ts";
import type { SessionFile } from "./output/job-result-schema.ts";
import type { TrialResultFile } from "./output/trial-result-schema.ts";
import { planLimits } from "./trial/limits.ts";
import type { Trial } from "./trial/trial.ts";

/** What of a budget was spent before the first trial of a session. */
export interface SpentBefore {
  readonly costUsd: number;
  /** Trials whose cost nobody knows. */
  readonly unknownCostTrials: number;
  readonly wallSec: number;
  readonly tokens: number;
}

export interface BudgetPreviewOptions {
  readonly job: Job;
  /** Those that are to run. */
  readonly trials: readonly Trial[];
  /** Datasets with a limit of their own. */
  readonly datasets: readonly { readonly name: string; readonly nConcurrent: number | null }[];
  /** Of one environment in US dollars; null when unknown. */
  readonly pricePerHour: number | null;
  readonly before: SpentBefore;
}

const hourSec = 3600;

/** What each limit of a budget allows against what is known ahead; empty without a budget. Retries are not counted. */
export function previewBudget(options: BudgetPreviewOptions): PlannedBudget[] {
  const { job, before, pricePerHour } = options;
  const loads = options.trials.flatMap((trial) => loadOf(job, trial) ?? []);
  const environmentSec = sum(loads.map((load) => load.environmentSec)) ?? 0;
  const { costUsd, wallSec, tokens } = job.budget;
  const unknownPrice = pricePerHour === null ? ["what environments cost"] : [];
  const unknownBefore = before.unknownCostTrials > 0 ? [`what ${before.unknownCostTrials} earlier trials cost`] : [];
  const rows = [
    {
      name: "cost_usd",
      limit: costUsd,
      spent: before.costUsd,
      atMost: pricePerHour === null ? null : (environmentSec / hourSec) * pricePerHour,
      unknown: [...unknownPrice, "what agents spend", ...unknownBefore],
    },
    { name: "wall_sec", limit: wallSec, spent: before.wallSec, atMost: longestSec(options, loads), unknown: [] },
    { name: "tokens", limit: tokens, spent: before.tokens, atMost: null, unknown: ["what agents use"] },
  ];
  return rows.flatMap(({ limit, ...row }) => (limit === null ? [] : [{ ...row, limit }]));
}

/** How the trials of a job start: one of them may have to wait for its turn, its agent's or its dataset's. */
export function budgetedTrials({
  job,
  trials,
  datasets,
}: Pick<BudgetPreviewOptions, "job" | "trials" | "datasets">): BudgetedTrials {
  const concurrency = job.nConcurrentTrials;
  const fits = (limit: number | null, isOf: (trial: Trial) => boolean): boolean =>
    limit === null || trials.filter(isOf).length <= limit;
  const startAtOnce =
    trials.length <= concurrency &&
    job.agents.every(({ name, nConcurrent }) => fits(nConcurrent, (trial) => trial.agent.name === name)) &&
    datasets.every(({ name, nConcurrent }) => fits(nConcurrent, (trial) => trial.datasetName === name));
  return { count: trials.length, concurrency, startAtOnce };
}

/** What trials and sessions that are over have spent. */
export function sumSpent(results: readonly TrialResultFile[], sessions: readonly SessionFile[]): SpentBefore {
  const total = (values: readonly (number | null | undefined)[]): number => sum(values.map((value) => value ?? 0)) ?? 0;
  return {
    costUsd: total(results.flatMap(({ cost, agent_usage: usage }) => [cost, usage?.cost_usd])),
    unknownCostTrials: results.filter(({ cost }) => cost === null).length,
    wallSec: total(sessions.map(({ duration_sec: sec }) => sec)),
    tokens: total(results.flatMap(({ agent_usage: usage }) => [usage?.input_tokens, usage?.output_tokens])),
  };
}

/** The longest that a trial may take by its deadlines. */
interface Load {
  readonly trial: Trial;
  readonly trialSec: number;
  /** Of all its environments together. */
  readonly environmentSec: number;
}

function loadOf(job: Job, trial: Trial): Load | null {
  const { task, agent, refusal } = trial;
  if (refusal || task.status === "broken") return null;
  const { imageMs, startMs, installMs, executeMs, verifyMs } = planLimits(job, task.config);
  const isSeparate = (job.verifier.environment ?? task.config.verifier.environment) === "separate";
  const tests = job.verifier.disable ? 0 : verifyMs + (isSeparate ? startMs : 0);
  const lifeMs = startMs + (agent.install === null ? 0 : installMs) + executeMs + tests;
  // The agent's environment is still there while the tests run in another one.
  const secondMs = isSeparate && !job.verifier.disable ? tests : 0;
  const waitMs = trial.image?.kind === "base" ? 0 : imageMs;
  return { trial, trialSec: (waitMs + lifeMs) / 1000, environmentSec: (lifeMs + secondMs) / 1000 };
}

// While a trial waits, all places are taken, or all those of its agent or its dataset.
function longestSec({ job, datasets }: BudgetPreviewOptions, loads: readonly Load[]): number {
  const secOf = (wanted: readonly Load[]): number => sum(wanted.map(({ trialSec }) => trialSec)) ?? 0;
  if (loads.length <= 1) return secOf(loads);
  const groups = [
    ...job.agents.map(({ name, nConcurrent }) => ({
      nConcurrent,
      has: ({ trial }: Load) => trial.agent.name === name,
    })),
    ...datasets.map(({ name, nConcurrent }) => ({ nConcurrent, has: ({ trial }: Load) => trial.datasetName === name })),
  ];
  const bound = groups.flatMap(({ nConcurrent, has }) =>
    nConcurrent === null || nConcurrent >= job.nConcurrentTrials ? [] : [secOf(loads.filter(has)) / nConcurrent],
  );
  const longest = max(loads.map(({ trialSec }) => trialSec)) ?? 0;
  const all = secOf(loads);
  // One after the other is the worst that any order comes to.
  return Math.min(all, all / job.nConcurrentTrials + (sum(bound) ?? 0) + longest);
}
