import type { FactValue } from "../../environments/environment.ts";
import type { FailureCause } from "../../store/run.ts";
import type { FailureType } from "../trial/failure.ts";

export interface TrialErrorFile {
  readonly type: FailureType;
  readonly message: string;
  /** The phase in which it happened; null if none was reached. */
  readonly phase: string | null;
  readonly cause: FailureCause;
}

/** Hashes of what a trial's result depends on, made from templates and never from values of variables; null when unknown. */
export interface TrialInputsFile {
  readonly task: string | null;
  readonly agent: string | null;
  readonly environment: string | null;
  /** Timeouts, the verifier's keys and the instruction's place. */
  readonly settings: string | null;
}

/** A trial's result.json, field for field; times are ISO 8601 in UTC. */
export interface TrialResultFile {
  readonly task_name: string;
  readonly dataset_name: string;
  readonly agent_name: string;
  readonly attempt: number;
  readonly task_git_commit_id: string | null;
  readonly reward: number | null;
  readonly cost: number | null;
  readonly error: TrialErrorFile | null;
  readonly durations: {
    readonly total_sec: number;
    readonly environment_setup_sec: number | null;
    readonly agent_setup_sec: number | null;
    readonly agent_execution_sec: number | null;
    readonly verifier_sec: number | null;
  };
  readonly timestamps: {
    readonly started_at: string;
    readonly environment_setup_started_at: string | null;
    readonly environment_setup_ended_at: string | null;
    readonly agent_setup_started_at: string | null;
    readonly agent_setup_ended_at: string | null;
    readonly agent_execution_started_at: string | null;
    readonly agent_execution_ended_at: string | null;
    readonly verifier_started_at: string | null;
    readonly verifier_ended_at: string | null;
    readonly ended_at: string;
  };
  /** The trial began from what an earlier install of the agent left; its own setup took only what `durations` says. */
  readonly agent_setup_cached: boolean;
  readonly trial_id: string;
  /** 1 + retries, over all sessions of the job. */
  readonly tries: number;
  readonly warnings: readonly string[];
  /** Why nobody should rely on the reward; empty when nothing was found. */
  readonly untrusted: readonly string[];
  /** What the agent itself says it used. */
  readonly agent_usage: {
    readonly cost_usd: number | null;
    readonly input_tokens: number | null;
    readonly output_tokens: number | null;
  } | null;
  readonly task: {
    readonly source: string | null;
    readonly metadata: Readonly<Record<string, unknown>>;
    readonly dataset_version: string | null;
  };
  readonly inputs: TrialInputsFile;
  readonly environment: { readonly [key: string]: FactValue } | null;
  /** Processes the agent had left running when it ended. */
  readonly leftovers: readonly { readonly pid: number; readonly command: string }[];
  /** Null until the environment has been given back, and when there was none. */
  readonly teardown: {
    readonly duration_sec: number;
    readonly kept: readonly { readonly id: string; readonly enter: string | null }[];
  } | null;
}

/** A trial that was cut off by what happened to the job, and not by anything of its own. */
export function isInterrupted({ error }: Pick<TrialResultFile, "error">): boolean {
  if (error === null) return false;
  return error.type === "trial_cancelled" || (error.type === "internal_error" && error.cause === "infrastructure");
}

/** A trial is failed when an error kept it from its end; a failed teardown alone does not. */
export function isFailed(result: Pick<TrialResultFile, "error">): boolean {
  return result.error !== null && result.error.type !== "environment_teardown_failed";
}
