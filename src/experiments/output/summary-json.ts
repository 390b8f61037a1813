import type { JsonObject } from "../../base/json.ts";
import type { ExperimentSummary } from "../run/experiment-tally.ts";

/** A summary as programs read it. */
export function summaryJson(summary: ExperimentSummary): JsonObject {
  return {
    experiment_id: summary.id,
    status: summary.status,
    total_runs: summary.totalRuns,
    successful_runs: summary.succeeded,
    failed_runs: summary.failed,
    skipped_runs: summary.skipped,
    failed_evaluations: summary.failedEvaluations,
    average_scores: summary.averageScores,
    aggregates: summary.aggregates.map(({ aggregate, score, label, explanation, metadata, error }) => ({
      aggregate,
      score,
      label: label ?? null,
      explanation: explanation ?? null,
      metadata: metadata ?? {},
      error: error ?? null,
    })),
  };
}

/** True when nothing is left to run, or to run again. */
export function isWhole(
  summary: Pick<ExperimentSummary, "status" | "failed" | "skipped" | "failedEvaluations">,
): boolean {
  const { status, failed, skipped, failedEvaluations } = summary;
  return status === "completed" && failed + skipped + failedEvaluations === 0;
}
