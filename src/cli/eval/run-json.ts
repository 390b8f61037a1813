import type { Json, JsonObject } from "../../base/json.ts";
import { toJson } from "../../base/to-json.ts";
import type { RunRecord } from "../../store/run-store.ts";
import type { ItemWithScores, RunSummary, ScorerResult } from "../../datasets/summary.ts";

/** A run's summary as programs read it. */
export function runJson(name: string, summary: RunSummary): JsonObject {
  return toJson({
    name,
    run_id: summary.runId,
    status: summary.status,
    total_items: summary.totalItems,
    succeeded_count: summary.succeededCount,
    failed_count: summary.failedCount,
    skipped_count: summary.skippedCount,
    completed_with_errors: summary.completedWithErrors,
    persistence_failures: summary.persistenceFailures,
    started_at: summary.startedAt,
    completed_at: summary.completedAt,
    scorers: summary.scorers.map(({ scorerId, scorerName, ...rest }) => ({
      scorer_id: scorerId,
      scorer_name: scorerName,
      ...rest,
    })),
    dataset_scores: summary.datasetScores.map(scoreJson),
    error: summary.error,
    warnings: summary.warnings,
  }).json as JsonObject;
}

/** An item's result as programs read it. */
export function itemJson(item: ItemWithScores): JsonObject {
  return toJson({
    index: item.index,
    item_id: item.itemId,
    item_version: item.itemVersion,
    repeat: item.repeat,
    input: item.input,
    output: item.output,
    expected_output: item.expectedOutput,
    metadata: item.metadata,
    error: item.error,
    error_details: item.errorDetails,
    is_interrupted: item.isInterrupted,
    started_at: item.startedAt,
    completed_at: item.completedAt,
    duration_ms: item.durationMs,
    retry_count: item.retryCount,
    trace_id: item.traceId,
    usage: item.usage && {
      cost_usd: item.usage.costUsd,
      input_tokens: item.usage.inputTokens,
      output_tokens: item.usage.outputTokens,
    },
    scores: item.scores.map(scoreJson),
  }).json as JsonObject;
}

/** A stored run as programs read it. */
export function recordJson(run: RunRecord): JsonObject {
  return toJson({
    id: run.id,
    kind: run.kind,
    name: run.name,
    status: run.status,
    is_finished: run.isFinished,
    is_held: run.isHeld,
    dataset_id: run.datasetId,
    dataset_version: run.datasetVersion,
    total: run.total,
    succeeded: run.succeeded,
    failed: run.failed,
    error: run.error,
    identity: run.identity,
    metadata: run.metadata,
    created_at: new Date(run.createdAt),
    ended_at: run.endedAt === null ? null : new Date(run.endedAt),
  }).json as JsonObject;
}

function scoreJson({ scorerId, scorerName, label, ...rest }: ScorerResult): Json {
  return { scorer_id: scorerId, scorer_name: scorerName, ...(label === undefined ? {} : { label }), ...rest };
}
