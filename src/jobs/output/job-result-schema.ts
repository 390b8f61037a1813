import type { Interval } from "../../analysis/interval.ts";
import type { ValueAtK } from "../../analysis/summarize-marks.ts";
import type { FailureCause } from "../../store/run.ts";
import type { FailureType } from "../trial/failure.ts";
import type { TrialInputsFile } from "./trial-result-schema.ts";

export interface IntervalFile {
  readonly low: number;
  readonly high: number;
  readonly method: Interval["method"];
  readonly level: number;
}

/** The rate that people see. It counts every trial with a reward, and every failure of the agent or the task as not passed. */
export interface HeadlineFile {
  /** Null when no trial counts. */
  readonly rate: number | null;
  readonly interval: IntervalFile | null;
  readonly passed: number;
  readonly counted: number;
  /** Finished trials that do not count. */
  readonly excluded: number;
  /** The same by reason: `infrastructure`, `configuration`, `rollout`, `cancelled`, `task_invalid`, `task_not_found`. */
  readonly excluded_by: Readonly<Record<string, number>>;
}

/** What is said about any set of trials. Rates and means are over completed trials with a reward; null when there are none. */
export interface TrialStatsFile {
  readonly headline: HeadlineFile;
  readonly total_trials: number;
  readonly completed_trials: number;
  readonly failed_trials: number;
  readonly pass_rate: number | null;
  readonly mean_reward: number | null;
  readonly total_cost: number;
  readonly unknown_cost_trials: number;
  /** Trials on whose reward nobody should rely. */
  readonly untrusted_trials: number;
  readonly pass_rate_interval: IntervalFile | null;
  readonly mean_reward_interval: IntervalFile | null;
  /** The same two over all planned trials, a trial without a reward counted as 0; null when the verifier is disabled. */
  readonly pass_rate_over_planned: number | null;
  readonly mean_reward_over_planned: number | null;
  /** The share of planned trials that have a reward. */
  readonly coverage: number | null;
  readonly pass_at_k: readonly ValueAtK[];
  readonly pass_hat_k: readonly ValueAtK[];
  readonly errors: Readonly<Partial<Record<FailureType, number>>>;
  /** Failed trials by cause. */
  readonly causes: Readonly<Partial<Record<FailureCause, number>>>;
  readonly metrics: Readonly<Record<string, number | null>>;
}

export interface AgentStatsFile extends TrialStatsFile {
  readonly datasets: Readonly<Record<string, TrialStatsFile>>;
}

export interface TrialRefFile {
  readonly task_name: string;
  readonly dataset_name: string;
  readonly agent_name: string;
  readonly attempt: number;
}

/** One go at a job, from its start to its end or to the last sign of it. */
export interface SessionFile {
  readonly started_at: string;
  /** Null while it runs, and when its process died. */
  readonly ended_at: string | null;
  readonly duration_sec: number;
}

/** Something that trials of one job had in different versions. */
export interface MixedInputFile {
  readonly kind: keyof TrialInputsFile;
  /** The agent's or the task's name; null for what all trials share. */
  readonly name: string | null;
  readonly versions: readonly {
    readonly hash: string | null;
    readonly trials: number;
    readonly keys: readonly string[];
  }[];
}

/** A job's result.json, field for field. */
export interface JobResultFile extends TrialStatsFile {
  readonly job_name: string;
  readonly cancelled: boolean;
  readonly skipped_trials: number;
  /** Of all sessions together. */
  readonly total_duration_sec: number;
  readonly started_at: string;
  /** Null while the job runs. */
  readonly ended_at: string | null;
  readonly stopped_by_budget: boolean;
  readonly agents: Readonly<Record<string, AgentStatsFile>>;
  readonly results: readonly (TrialRefFile & {
    readonly reward: number | null;
    readonly error_type: FailureType | null;
    readonly untrusted: boolean;
  })[];
  readonly skipped: readonly TrialRefFile[];
  readonly warnings: readonly string[];
  readonly sessions: readonly SessionFile[];
  /** Empty when every result has the same inputs. */
  readonly mixed_inputs: readonly MixedInputFile[];
}
