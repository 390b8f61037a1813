import "../base/check-node.ts";
import { systemClock } from "../base/clock.ts";
import {
  judgeAgreement as judgeAgreementOn,
  type JudgeAgreement,
  type JudgeAgreementOptions as AgreementOptions,
} from "../datasets/scorers/judge-agreement.ts";

export type * from "../scoring/scorer.ts";
export type { ComparingOptions, ScorerOptions } from "../scoring/scorer-options.ts";
export type { Disagreement, LabelledItem } from "../datasets/scorers/judge-agreement.ts";
export type { JudgeAgreement };
export { RolloutError } from "../base/rollout-error.ts";
export { correlation, type CorrelationOptions } from "../datasets/scorers/correlation.ts";
export { cost, type CostOptions } from "../scoring/cost.ts";
export { exact, type ExactOptions } from "../scoring/exact.ts";
export { includes, type IncludesOptions } from "../scoring/includes.ts";
export { jsonEquals } from "../scoring/json-equals.ts";
export { jsonSchema, type JsonSchemaOptions } from "../scoring/json-schema.ts";
export type { Ask } from "../scoring/judge/ask-judge.ts";
export type { JudgeScale } from "../scoring/judge/judge-scale.ts";
export { judge, type JudgeOptions } from "../scoring/judge/judge.ts";
export { latency, type LatencyOptions } from "../scoring/latency.ts";
export { levenshtein, type LevenshteinOptions } from "../scoring/levenshtein.ts";
export { macroF1, type MacroF1Options } from "../scoring/macro-f1.ts";
export { numeric, type NumericOptions } from "../scoring/numeric.ts";
export type { ToolCall } from "../scoring/read-tool-calls.ts";
export { regex, type RegexOptions } from "../scoring/regex.ts";
export { toolCallAccuracy, type ToolCallAccuracyOptions } from "../scoring/tool-call-accuracy.ts";

export interface JudgeAgreementOptions extends Pick<AgreementOptions, "judge" | "items"> {
  /** How many items are judged at a time; 5 unless told. */
  readonly maxConcurrency?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Lets a judge mark items that people have marked, and tells how well they agree and where they do not. */
export function judgeAgreement(options: JudgeAgreementOptions): Promise<JudgeAgreement> {
  const { judge, items, maxConcurrency = 5, signal = new AbortController().signal } = options;
  return judgeAgreementOn({ judge, items, maxConcurrency, signal, clock: systemClock });
}
