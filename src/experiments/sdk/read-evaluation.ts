import { inspect } from "node:util";
import type { Evaluation } from "./experiment-definition.ts";

/** What an evaluator said, as it goes into an answer. */
export interface ReadEvaluation {
  readonly score: number | null;
  readonly label: string | null;
  readonly explanation?: string;
  /** As it was returned. */
  readonly metadata: unknown;
}

/** Reads what an evaluator returned; throws for what is no mark. */
export function readEvaluation(evaluation: Evaluation | boolean | undefined): ReadEvaluation {
  if (typeof evaluation !== "object" || evaluation === null)
    return { score: readScore(evaluation), label: null, metadata: {} };
  if (!("score" in evaluation)) throw new Error("it gave an object without a score");
  const { score, label, explanation, metadata } = evaluation;
  return {
    score: readScore(score),
    label: label ?? null,
    ...(explanation === undefined ? {} : { explanation }),
    metadata: metadata ?? {},
  };
}

function readScore(score: unknown): number | null {
  if (score === null || score === undefined) return null;
  if (typeof score === "boolean") return score ? 1 : 0;
  if (typeof score === "number" && Number.isFinite(score)) return score;
  throw new Error(`the score is ${inspect(score, { depth: 0 })}, which is no finite number`);
}
