import type { ExperimentSummary } from "../../experiments/run/experiment-tally.ts";
import { countText } from "../../report/number-text.ts";

/** What an experiment that came to its end lacks, on one line, with what to type to see more unless nothing is kept. */
export function describeFailures(summary: ExperimentSummary, look: string | null): string {
  const { id, failed, skipped, failedEvaluations, aggregates, totalRuns, firstFailure: first } = summary;
  const failedAggregates = aggregates.filter(({ error }) => error != null);
  const counts = [
    failed > 0 ? `${failed} of ${countText(totalRuns, "run")} failed` : "",
    skipped > 0 ? `${skipped} of ${countText(totalRuns, "run")} did not run` : "",
    failedEvaluations > 0 ? `${countText(failedEvaluations, "evaluation")} failed` : "",
    failedAggregates.length > 0 ? `${countText(failedAggregates.length, "aggregate")} failed` : "",
  ].filter((part) => part !== "");
  const [aggregate] = failedAggregates;
  const cause = first ?? (aggregate === undefined ? null : `${aggregate.aggregate}: ${aggregate.error ?? ""}`);
  const parts = [counts.join(", "), cause === null ? "" : `first ${cause}`, look === null ? "" : `see: ${look}`];
  return `${id}: ${parts.filter((part) => part !== "").join("; ")}`.replaceAll(/\s*\n\s*/g, " ");
}
