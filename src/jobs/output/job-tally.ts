import { max, mean, min, sum } from "../../analysis/aggregates.ts";
import { summarizeMarks, type ItemMarks } from "../../analysis/summarize-marks.ts";
import { exclusionOf, type FailureCause } from "../../store/run.ts";
import type { Spending } from "../budget-watch.ts";
import type { Metric } from "../config/job.ts";
import type { FailureType } from "../trial/failure.ts";
import type { PlannedTrial } from "./planned-trial.ts";
import type { JobResultFile, SessionFile, TrialRefFile, TrialStatsFile } from "./job-result-schema.ts";
import { findMixedInputs, type RanWith } from "./mixed-inputs.ts";
import { isFailed, type TrialInputsFile, type TrialResultFile } from "./trial-result-schema.ts";

interface Row {
  readonly reward: number | null;
  readonly errorType: FailureType | null;
  readonly isFailed: boolean;
  readonly cause: FailureCause | null;
  /** Why a failed trial is left out of the headline; null when it counts. */
  readonly exclusion: string | null;
  readonly cost: number | null;
  readonly isUntrusted: boolean;
  readonly spentUsd: number;
  readonly spentTokens: number;
  readonly inputs: TrialInputsFile | undefined;
}

export interface TallyEnd {
  readonly jobName: string;
  /** All of them, this one last. */
  readonly sessions: readonly SessionFile[];
  readonly isCancelled: boolean;
  readonly isStoppedByBudget: boolean;
  readonly warnings: readonly string[];
}

/** What is counted of a trial. */
export type TalliedTrial = Pick<
  TrialResultFile,
  "agent_name" | "reward" | "cost" | "error" | "agent_usage" | "untrusted" | "inputs"
>;

const passAt = 1;
const aggregates: Readonly<Record<Metric, (values: readonly number[]) => number | null>> = { sum, min, max, mean };

// What the built-in agents do takes no model.
function isSilent(result: TalliedTrial, told: number | null | undefined): boolean {
  const { agent_name: name } = result;
  return !isFailed(result) && (told ?? null) === null && name !== "oracle" && name !== "nop";
}

/** Every finished trial of a job in a few numbers, and the job's result at any instant. */
export class JobTally {
  readonly #plan: readonly PlannedTrial[];
  readonly #metrics: readonly Metric[];
  readonly #hasVerifier: boolean;
  readonly #rows: (Row | undefined)[];
  #skipped: readonly number[] = [];
  #spentUsd = 0;
  #spentTokens = 0;
  readonly #unknown = { unknownCost: 0, unknownSpending: 0, unknownTokens: 0 };

  constructor(plan: readonly PlannedTrial[], metrics: readonly Metric[], hasVerifier: boolean) {
    this.#plan = plan;
    this.#metrics = metrics;
    this.#hasVerifier = hasVerifier;
    this.#rows = Array.from({ length: plan.length });
  }

  /** Takes a trial's final result, in place of an earlier one if there is. */
  add(index: number, result: TalliedTrial): void {
    const usage = result.agent_usage;
    const earlier = this.#rows[index];
    const spentUsd = (result.cost ?? 0) + (usage?.cost_usd ?? 0);
    const spentTokens = (usage?.input_tokens ?? 0) + (usage?.output_tokens ?? 0);
    this.#rows[index] = {
      reward: result.reward,
      errorType: result.error?.type ?? null,
      isFailed: isFailed(result),
      cause: result.error?.cause ?? null,
      exclusion: result.error === null ? null : exclusionOf(result.error),
      isUntrusted: result.untrusted.length > 0,
      cost: result.cost === null ? null : spentUsd,
      spentUsd,
      spentTokens,
      inputs: result.inputs,
    };
    this.#spentUsd += spentUsd - (earlier?.spentUsd ?? 0);
    this.#spentTokens += spentTokens - (earlier?.spentTokens ?? 0);
    this.#unknown.unknownCost += Number(result.cost === null) - Number(earlier?.cost === null);
    if (!earlier && isSilent(result, usage?.input_tokens ?? usage?.output_tokens)) this.#unknown.unknownTokens++;
    if (!earlier && isSilent(result, usage?.cost_usd)) this.#unknown.unknownSpending++;
  }

  /** Plan indexes that never ran. */
  skip(indexes: readonly number[]): void {
    this.#skipped = indexes;
  }

  /** What has been spent so far, for a budget. */
  spent(): Spending {
    return { costUsd: this.#spentUsd, tokens: this.#spentTokens, ...this.#unknown };
  }

  get counts(): { readonly completed: number; readonly failed: number; readonly skipped: number } {
    const rows = this.#rows.filter((row) => row !== undefined);
    const failed = rows.filter((row) => row.isFailed).length;
    return { completed: rows.length - failed, failed, skipped: this.#skipped.length };
  }

  /** The whole result.json of the job. */
  result(end: TallyEnd): JobResultFile {
    const all = this.#plan.map((_trial, index) => index);
    const stats = this.#statsOf(all);
    return {
      job_name: end.jobName,
      cancelled: end.isCancelled,
      total_trials: stats.total_trials,
      completed_trials: stats.completed_trials,
      failed_trials: stats.failed_trials,
      skipped_trials: this.#skipped.length,
      headline: stats.headline,
      pass_rate: stats.pass_rate,
      mean_reward: stats.mean_reward,
      total_cost: stats.total_cost,
      total_duration_sec: Math.round(end.sessions.reduce((sum, one) => sum + one.duration_sec, 0) * 1000) / 1000,
      started_at: end.sessions[0]?.started_at ?? "",
      ended_at: end.sessions.at(-1)?.ended_at ?? null,
      agents: this.#byLabel(all, "agentName", (indexes) => ({
        ...this.#statsOf(indexes),
        datasets: this.#byLabel(indexes, "datasetName", (inner) => this.#statsOf(inner)),
      })),
      results: all.flatMap((index) => {
        const row = this.#rows[index];
        return row
          ? [{ ...this.#refOf(index), reward: row.reward, error_type: row.errorType, untrusted: row.isUntrusted }]
          : [];
      }),
      ...extrasOf(stats),
      stopped_by_budget: end.isStoppedByBudget,
      skipped: this.#skipped.map((index) => this.#refOf(index)),
      warnings: end.warnings,
      sessions: end.sessions,
      // One session reads every input once.
      mixed_inputs: end.sessions.length > 1 ? findMixedInputs(this.#ranWith()) : [],
    };
  }

  *#ranWith(): Iterable<RanWith> {
    for (const [index, row] of this.#rows.entries()) {
      const trial = this.#plan[index];
      if (row?.inputs && trial) yield { trial, inputs: row.inputs };
    }
  }

  #statsOf(indexes: readonly number[]): TrialStatsFile {
    const items = new Map<string, Attempts>();
    const errors: Partial<Record<FailureType, number>> = {};
    const rewards: number[] = [];
    const costs: number[] = [];
    let finished = 0;
    let failed = 0;
    let untrusted = 0;
    const excluded: Record<string, number> = {};
    const causes: Partial<Record<FailureCause, number>> = {};
    for (const index of indexes) {
      const row = this.#rows[index];
      if (!row) continue;
      finished++;
      if (row.isFailed) failed++;
      if (row.isFailed && row.cause !== null) causes[row.cause] = (causes[row.cause] ?? 0) + 1;
      if (row.isUntrusted) untrusted++;
      if (row.errorType) errors[row.errorType] = (errors[row.errorType] ?? 0) + 1;
      if (row.cost !== null) costs.push(row.cost);
      const key = this.#itemKey(index);
      const attempts = items.get(key) ?? { values: [], missed: 0 };
      items.set(key, attempts);
      if (row.reward !== null) {
        rewards.push(row.reward);
        attempts.values.push(row.reward);
      } else if (row.isFailed && row.exclusion !== null) {
        excluded[row.exclusion] = (excluded[row.exclusion] ?? 0) + 1;
      } else if (row.isFailed && this.#hasVerifier) attempts.missed++;
    }
    const marks = summarizeMarks(itemMarks(items), passAt);
    const share = (part: number): number | null =>
      this.#hasVerifier && indexes.length > 0 ? part / indexes.length : null;
    return {
      headline: { ...marks.headline, excluded: sum(Object.values(excluded)) ?? 0, excluded_by: excluded },
      total_trials: indexes.length,
      completed_trials: finished - failed,
      failed_trials: failed,
      pass_rate: marks.passRate,
      mean_reward: marks.meanMark,
      total_cost: sum(costs) ?? 0,
      unknown_cost_trials: finished - costs.length,
      untrusted_trials: untrusted,
      pass_rate_interval: marks.passRateInterval,
      mean_reward_interval: marks.meanMarkInterval,
      pass_rate_over_planned: share(marks.passed),
      mean_reward_over_planned: share(sum(rewards) ?? 0),
      coverage: share(rewards.length),
      pass_at_k: marks.passAtK,
      pass_hat_k: marks.passHatK,
      errors,
      causes,
      metrics: Object.fromEntries(this.#metrics.map((metric) => [metric, aggregates[metric](rewards)])),
    };
  }

  #byLabel<T>(
    indexes: readonly number[],
    label: "agentName" | "datasetName",
    summarize: (indexes: readonly number[]) => T,
  ): Record<string, T> {
    const groups = Map.groupBy(indexes, (index) => this.#plan[index]?.[label] ?? "");
    return Object.fromEntries([...groups].map(([name, members]) => [name, summarize(members)]));
  }

  // Attempts of one agent at one task are one item; what several agents make of a task shares a cluster.
  #itemKey(index: number): string {
    const { agentName = "", datasetName = "", taskName = "" } = this.#plan[index] ?? {};
    return `${datasetName}\0${taskName}\0${agentName}`;
  }

  #refOf(index: number): TrialRefFile {
    const trial = this.#plan[index];
    return {
      task_name: trial?.taskName ?? "",
      dataset_name: trial?.datasetName ?? "",
      agent_name: trial?.agentName ?? "",
      attempt: trial?.attempt ?? 0,
    };
  }
}

interface Attempts {
  readonly values: number[];
  missed: number;
}

function* itemMarks(items: ReadonlyMap<string, Attempts>): Iterable<ItemMarks> {
  for (const [item, attempts] of items) yield { item, ...attempts, cluster: item.slice(0, item.lastIndexOf("\0")) };
}

function extrasOf(
  stats: TrialStatsFile,
): Omit<
  TrialStatsFile,
  "headline" | "total_trials" | "completed_trials" | "failed_trials" | "pass_rate" | "mean_reward" | "total_cost"
> {
  const {
    headline: _h,
    total_trials: _t,
    completed_trials: _c,
    failed_trials: _f,
    pass_rate: _p,
    mean_reward: _m,
    total_cost: _k,
    ...rest
  } = stats;
  return rest;
}
