import { isDeepStrictEqual } from "node:util";
import type { Json, JsonObject } from "../../base/json.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { RunPlan } from "../../store/run-store.ts";
import type { ExampleSource } from "../examples/example-source.ts";

export interface ExperimentFacts {
  readonly id: string;
  readonly name: string;
  /** The experiment file, as it was typed. */
  readonly file: string;
  readonly examples: ExampleSource;
  readonly params: JsonObject;
  readonly repetitions: number;
  readonly evaluators: readonly string[];
  /** A run passes whose first evaluator gives at least this. */
  readonly passAt: number;
  readonly maxWorkers: number;
}

/** An experiment in the words that all doors share. */
export function planExperiment(facts: ExperimentFacts): RunPlan {
  const { id, name, examples, params, repetitions, evaluators, passAt, file, maxWorkers } = facts;
  return {
    id,
    kind: "experiment",
    name,
    datasetId: examples.dataset?.id ?? null,
    datasetVersion: examples.dataset?.version ?? null,
    total: examples.count * repetitions,
    identity: { target: name, params, scorers: [...evaluators], repeats: repetitions, passAt, dataHash: examples.hash },
    metadata: { file, dataset: examples.name, maxWorkers },
  };
}

/** What an experiment was begun with. */
export interface ExperimentRecord {
  readonly params: JsonObject;
  readonly repetitions: number;
  readonly evaluators: readonly string[];
  readonly passAt: number;
  readonly file: string | null;
  /** As it was typed. */
  readonly dataset: string | null;
}

/** The same out of a plan; throws for a run of another kind. */
export function readPlan({ id, kind, identity, metadata }: RunPlan): ExperimentRecord {
  if (kind !== "experiment")
    throw new RolloutError("usage_invalid", `"${id}" is no experiment`, { hint: `it is a run of kind ${kind}` });
  const { params, repeats, scorers, passAt } = identity;
  return {
    params: typeof params === "object" && params !== null && !Array.isArray(params) ? (params as JsonObject) : {},
    repetitions: typeof repeats === "number" ? repeats : 1,
    evaluators: Array.isArray(scorers) ? scorers.map(String) : [],
    passAt: typeof passAt === "number" ? passAt : 1,
    file: textOf(metadata["file"]),
    dataset: textOf(metadata["dataset"]),
  };
}

function textOf(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}

/** Refuses to go on with an experiment as another one; all differences at once. */
export function checkSameExperiment(known: RunPlan, plan: RunPlan): void {
  const differing = [...differences(known, plan)];
  if (differing.length === 0) return;
  throw new RolloutError("config_invalid", `experiment "${plan.id}" was begun otherwise: ${differing.join("; ")}`, {
    hint: "go on with what it was begun with, which is what --resume takes when nothing else is given, or begin a new one",
  });
}

function* differences(known: RunPlan, plan: RunPlan): Iterable<string> {
  const [before, now] = [readPlan(known), readPlan(plan)];
  const changed = (what: string, was: unknown, is: unknown): string[] =>
    isDeepStrictEqual(was, is) ? [] : [`${what} was ${text(was)}, not ${text(is)}`];
  yield* changed("the experiment", known.name, plan.name);
  if (known.datasetId !== plan.datasetId || known.identity["dataHash"] !== plan.identity["dataHash"])
    yield `the examples of ${before.dataset ?? "its dataset"} were others`;
  else yield* changed("the version of the dataset", known.datasetVersion, plan.datasetVersion);
  yield* changed("--repetitions", before.repetitions, now.repetitions);
  yield* changed("--pass-at", before.passAt, now.passAt);
  yield* changed("the list of evaluators", before.evaluators, now.evaluators);
  for (const name of new Set([...Object.keys(before.params), ...Object.keys(now.params)]))
    yield* changed(`parameter ${name}`, before.params[name], now.params[name]);
}

function text(value: unknown): string {
  return value === undefined ? "not there" : JSON.stringify(value);
}
