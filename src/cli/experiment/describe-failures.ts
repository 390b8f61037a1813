import type { ExperimentSummary } from "../../experiments/run/experiment-tally.ts";
import { countText } from "../../report/number-text.ts";
import type { RunListener } from "../../store/run.ts";

export interface FailureWords {
  /** What went wrong first; null where nobody saw it. */
  readonly first: string | null;
  /** What to type to see more; null when nothing is kept. */
  readonly look: string | null;
}

/** What an experiment that came to its end lacks, on one line. */
export function describeFailures(summary: ExperimentSummary, { first, look }: FailureWords): string {
  const { id, failed, skipped, failedEvaluations, aggregates, totalRuns } = summary;
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

/** Remembers what went wrong first in a run. */
export class FirstFailure {
  #text: string | null = null;

  get text(): string | null {
    return this.#text;
  }

  /** The same listener, which is listened in on. */
  watch(listener: RunListener): RunListener {
    return (event) => {
      if (this.#text === null && event.type === "unit_finished") {
        const why = event.unit.failure?.message ?? event.unit.warnings[0];
        if (why !== undefined) this.#text = `${event.unit.key}: ${why.slice(0, 300)}`;
      }
      listener(event);
    };
  }
}
