import type { Json } from "../../base/json.ts";
import { createFailure } from "../../store/failure.ts";
import type { Artifact, Unit, UnitStatus } from "../../store/run.ts";
import { phaseNames } from "../trial/phase-clock.ts";
import { trialKey } from "./job-paths.ts";
import { isFailed, type TrialResultFile } from "./trial-result-schema.ts";

/** Returns a trial as a unit of its run. */
export function toUnit(result: TrialResultFile, index: number, artifacts: readonly Artifact[] = []): Unit {
  const { agent_usage: usage, timestamps } = result;
  return {
    index,
    key: trialKey(result.agent_name, result.dataset_name, result.task_name, result.attempt),
    labels: {
      agent: result.agent_name,
      dataset: result.dataset_name,
      task: result.task_name,
      attempt: String(result.attempt),
    },
    status: statusOf(result),
    scores: [{ name: "reward", value: result.reward }],
    failure: isFailed(result) && result.error ? createFailure(result.error) : null,
    phases: phaseNames.map((name) => ({ name, durationSec: result.durations[`${name}_sec`] })),
    usage: usage && { inputTokens: usage.input_tokens, outputTokens: usage.output_tokens, costUsd: usage.cost_usd },
    spendUsd: result.cost === null ? null : result.cost + (usage?.cost_usd ?? 0),
    tries: result.tries,
    startedAt: Date.parse(timestamps.started_at),
    endedAt: Date.parse(timestamps.ended_at),
    durationSec: result.durations.total_sec,
    artifacts,
    warnings: result.warnings,
    untrusted: result.untrusted,
    details: {
      trial_id: result.trial_id,
      task_git_commit_id: result.task_git_commit_id,
      environment_cost: result.cost,
      agent_setup_cached: result.agent_setup_cached,
      task: result.task as Json,
      inputs: { ...result.inputs },
      environment: result.environment,
      leftovers: result.leftovers,
    },
  };
}

function statusOf(result: TrialResultFile): UnitStatus {
  if (!isFailed(result)) return "completed";
  return result.error?.type === "trial_cancelled" ? "cancelled" : "failed";
}
