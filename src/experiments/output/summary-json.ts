import type { JsonObject } from "../../base/json.ts";
import type { ExperimentSummary } from "../run/experiment-tally.ts";

/** Returns a summary as the JSON of summary.json and `--json`. */
export function summaryJson(summary: ExperimentSummary): JsonObject {
  return {
    experiment_id: summary.id,
    status: summary.status,
    total_runs: summary.totalRuns,
    successful_runs: summary.succeeded,
    failed_runs: summary.failed,
    skipped_runs: summary.skipped,
    params: summary.params,
    duration_sec: summary.durationSec,
    sessions: summary.sessions.map(({ startedAt, endedAt, durationSec }) => ({
      started_at: isoTime(startedAt),
      ended_at: endedAt === null ? null : isoTime(endedAt),
      duration_sec: durationSec,
    })),
    ...detailsOf(summary),
  };
}

/** Returns the facts of a summary that only experiments have. */
export function detailsOf(summary: ExperimentSummary): JsonObject {
  return {
    failed_evaluations: summary.failedEvaluations,
    average_scores: summary.averageScores,
    aggregates: summary.aggregates.map(({ aggregate, score, label, explanation, metadata, error, asOf }) => ({
      aggregate,
      score,
      label: label ?? null,
      explanation: explanation ?? null,
      metadata: metadata ?? {},
      error: error ?? null,
      as_of: isoTime(asOf),
    })),
    scorings: summary.scorings.map(({ at, file, evaluators, params }) => ({
      at: isoTime(at),
      file,
      evaluators: [...evaluators],
      params,
    })),
    protocol_problems: summary.protocolProblems,
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns whether nothing is left to run, or to run again. */
export function isComplete(
  summary: Pick<ExperimentSummary, "status" | "failed" | "skipped" | "failedEvaluations" | "aggregates">,
): boolean {
  const { status, failed, skipped, failedEvaluations, aggregates } = summary;
  const failedAggregates = aggregates.filter(({ error }) => error != null).length;
  return status === "completed" && failed + skipped + failedEvaluations + failedAggregates === 0;
}
