import type { Scorer, ScorerRun } from "../../scoring/scorer.ts";
import { answered } from "./execution-result.ts";
import { readField, readText } from "./read-field.ts";
import type { TargetCall } from "./target-call.ts";
import type { ExecutionResult } from "./target.ts";

/** Runs a scorer on an item's input as it is, to see how well the scorer itself does. */
export async function executeScorer({ target, item, warn }: TargetCall): Promise<ExecutionResult> {
  const scorer = target.target as Scorer;
  const verdict: unknown = await scorer.run(item.input as unknown as ScorerRun);
  const score = readField(verdict, "score");
  const isScore = typeof score === "number" && Number.isFinite(score);
  if (!isScore) warn(`scorer "${target.name}" gave ${describe(score)} instead of a finite number; it counts as null`);
  return answered({ score: isScore ? score : null, reason: readText(verdict, "reason") });
}

function describe(value: unknown): string {
  return typeof value === "number" ? String(value) : `a value of type ${value === null ? "null" : typeof value}`;
}
