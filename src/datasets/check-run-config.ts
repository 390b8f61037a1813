import { RolloutError } from "../base/rollout-error.ts";
import { describeUnknown } from "../base/suggest.ts";
import type { RunConfig } from "./run-config.ts";

/** The numbers of a run with nothing left open. */
export interface RunRules {
  readonly maxConcurrency: number;
  readonly itemTimeoutMs: number | null;
  readonly maxRetries: number;
  readonly retryDelayMs: number;
  readonly repeats: number;
  readonly retainResults: boolean;
  readonly scoreFailed: boolean;
  readonly passAt: number;
}

type NumberKey =
  | "maxConcurrency"
  | "itemTimeout"
  | "maxRetries"
  | "retryDelay"
  | "repeats"
  | "passAt"
  | "limit"
  | "sample"
  | "seed"
  | "version";

interface NumberRule {
  readonly least: number;
  readonly isWhole: boolean;
}

const numberRules: Readonly<Record<NumberKey, NumberRule>> = {
  maxConcurrency: { least: 1, isWhole: true },
  itemTimeout: { least: 1, isWhole: false },
  maxRetries: { least: 0, isWhole: true },
  retryDelay: { least: 0, isWhole: false },
  repeats: { least: 1, isWhole: true },
  passAt: { least: -Infinity, isWhole: false },
  limit: { least: 1, isWhole: true },
  sample: { least: 1, isWhole: true },
  seed: { least: 0, isWhole: true },
  version: { least: 1, isWhole: true },
};

const known: Readonly<Record<keyof RunConfig, string>> = {
  name: "string",
  storage: "object",
  datasetId: "string",
  version: "number",
  data: "any",
  limit: "number",
  sample: "number",
  seed: "number",
  target: "any",
  targetType: "string",
  targetId: "string",
  registry: "object",
  scorers: "any",
  scoreFailed: "boolean",
  passAt: "number",
  maxConcurrency: "number",
  itemTimeout: "number",
  maxRetries: "number",
  retryDelay: "number",
  repeats: "number",
  retainResults: "boolean",
  signal: "object",
  runId: "string",
  metadata: "object",
  description: "string",
  tags: "object",
  onItemComplete: "function",
  onEvent: "function",
};

/** Checks a run's config and fills in what it leaves open; throws with every problem at once. */
export function checkRunConfig(config: RunConfig): RunRules {
  if (typeof config !== "object" || config === null)
    throw new RolloutError(
      "config_invalid",
      `the run cannot start: its config is ${config === null ? "null" : typeof config}`,
      {
        hint: "give an object: { data, target, scorers }",
      },
    );
  const problems = [...findProblems(config)];
  if (problems.length > 0) throw new RolloutError("config_invalid", `the run cannot start: ${problems.join("; ")}`);
  return {
    maxConcurrency: config.maxConcurrency ?? 5,
    itemTimeoutMs: config.itemTimeout ?? null,
    maxRetries: config.maxRetries ?? 0,
    retryDelayMs: config.retryDelay ?? 1000,
    repeats: config.repeats ?? 1,
    retainResults: config.retainResults ?? true,
    scoreFailed: config.scoreFailed ?? false,
    passAt: config.passAt ?? 1,
  };
}

function* findProblems(config: RunConfig): Iterable<string> {
  for (const [key, value] of Object.entries(config)) {
    const kind = (known as Readonly<Record<string, string | undefined>>)[key];
    if (kind === undefined) yield `${key}: ${describeUnknown("option", key, Object.keys(known))}`;
    else if (value !== undefined && kind !== "any" && (value === null || typeof value !== kind))
      yield `${key}: must be a ${kind}, not ${value === null ? "null" : typeof value}`;
    else if (value !== undefined && key in numberRules) yield* checkNumber(key as NumberKey, value);
  }
  if (config.scorers !== undefined && !Array.isArray(config.scorers)) yield "scorers: must be a list";
  if (config.datasetId !== undefined && config.data !== undefined) yield "datasetId and data: give one of them";
  if (config.datasetId === undefined && config.data === undefined) yield "datasetId or data: give one of them";
  if (config.datasetId !== undefined && config.storage === undefined) yield "datasetId: needs a storage to find it in";
  if (config.version !== undefined && config.datasetId === undefined)
    yield "version: is one of a dataset; give datasetId";
  if (config.limit !== undefined && config.sample !== undefined) yield "limit and sample: give one of them";
  if (config.runId === "") yield "runId: must not be empty";
}

function* checkNumber(key: NumberKey, value: unknown): Iterable<string> {
  const { least, isWhole } = numberRules[key];
  if (typeof value !== "number" || !Number.isFinite(value) || value < least || (isWhole && !Number.isInteger(value)))
    yield `${key}: must be a ${isWhole ? "whole number" : "number"}${least > -Infinity ? ` of at least ${least}` : ""}, not ${String(value)}`;
}
