import { readPlan } from "../../experiments/output/plan-experiment.ts";
import type { RunRecord } from "../../store/run-store.ts";

/** The evaluators that had their say on an experiment: those it was begun with, then those that came later. */
export function scoredBy(record: RunRecord): readonly string[] {
  const { summary } = record;
  const isObject = typeof summary === "object" && summary !== null && "average_scores" in summary;
  const later = isObject ? Object.keys(summary["average_scores"] ?? {}) : [];
  return [...new Set([...readPlan(record).evaluators, ...later])];
}
