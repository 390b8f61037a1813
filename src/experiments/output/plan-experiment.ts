import { isDeepStrictEqual } from "node:util";
import type { Json, JsonObject } from "../../base/json.ts";
import type { ProcessOwner } from "../../base/process-owner.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Run, RunOrigin, RunShape } from "../../store/run.ts";
import type { ExampleSource } from "../examples/example-source.ts";

export interface ExperimentFacts {
  readonly id: string;
  readonly name: string;
  /** The name that the experiment file declares. */
  readonly experiment: string;
  /** The experiment file, as it was typed. */
  readonly file: string | null;
  readonly examples: Pick<ExampleSource, "count" | "name" | "hash" | "dataset">;
  readonly params: JsonObject;
  readonly repetitions: number;
  readonly evaluators: readonly string[];
  /** A run passes if its first evaluator gives at least this. */
  readonly passAt: number;
  readonly maxWorkers: number;
  readonly location: string;
}

/** Where and when an experiment is started. */
export interface ExperimentStart {
  readonly origin: RunOrigin;
  readonly owner: ProcessOwner;
  readonly now: number;
}

/** Returns a new experiment as a run. */
export function planExperiment(facts: ExperimentFacts, { origin, owner, now }: ExperimentStart): Run {
  const { examples, repetitions, evaluators, passAt, experiment } = facts;
  const total = examples.count * repetitions;
  return {
    id: facts.id,
    kind: "experiment",
    name: facts.name,
    description: origin.description,
    status: "running",
    isResumable: true,
    createdAt: now,
    endedAt: null,
    sessions: [],
    owner: { pid: owner.pid, hostname: owner.hostname },
    shape: experimentShape(evaluators, { total, repetitions, passAt }),
    plan: {
      total,
      concurrency: facts.maxWorkers,
      groups: [{ labels: { experiment }, total }],
      budget: [],
      metrics: [],
    },
    counts: { finished: 0, completed: 0, failed: 0, cancelled: 0, untrusted: 0 },
    headline: null,
    groups: [],
    spendUsd: 0,
    unknownSpends: 0,
    scores: [],
    targets: [experiment],
    datasets: [
      {
        name: examples.dataset === null ? examples.name : examples.name.replace(/@\d+$/, ""),
        id: examples.dataset?.id ?? null,
        version: examples.dataset ? String(examples.dataset.version) : null,
      },
    ],
    location: facts.location,
    params: facts.params,
    tags: origin.tags,
    git: origin.git,
    rolloutVersion: origin.rolloutVersion,
    error: null,
    warnings: [],
    notes: [],
    details: {
      experiment,
      file: facts.file,
      repetitions,
      evaluators: [...evaluators],
      pass_at: passAt,
      data_hash: examples.hash,
    },
  };
}

interface ShapeFacts {
  readonly total: number;
  readonly repetitions: number;
  readonly passAt: number;
}

/** Returns how reports lay out an experiment with these evaluators. */
export function experimentShape(
  [first = "", ...others]: readonly string[],
  { total, repetitions, passAt }: ShapeFacts,
): RunShape {
  return {
    groupBy: ["experiment"],
    itemLabel: "example",
    scoreName: first,
    otherScores: others,
    showsCost: false,
    passAt,
    isScore: first !== "",
    ...(repetitions > 1 ? { itemCount: Math.round(total / repetitions) } : {}),
    unitNoun: "run",
  };
}

/** What an experiment was started with. */
export interface ExperimentRecord {
  readonly experiment: string;
  readonly params: JsonObject;
  readonly repetitions: number;
  readonly evaluators: readonly string[];
  readonly passAt: number;
  readonly file: string | null;
  /** As it was typed. */
  readonly dataset: string | null;
  readonly datasetId: string | null;
  readonly datasetVersion: number | null;
  readonly dataHash: Json;
}

/** Reads what an experiment was started with. Throws for a run of another kind. */
export function readPlan({ id, kind, name, params, datasets, details }: Run): ExperimentRecord {
  if (kind !== "experiment")
    throw new RolloutError("usage_invalid", `"${id}" is a run of kind ${kind}, not an experiment`);
  const { repetitions, evaluators, pass_at: passAt, file, experiment, data_hash: dataHash } = details;
  const [dataset] = datasets;
  return {
    experiment: textOf(experiment) ?? name,
    params,
    repetitions: typeof repetitions === "number" ? repetitions : 1,
    evaluators: Array.isArray(evaluators) ? evaluators.map(String) : [],
    passAt: typeof passAt === "number" ? passAt : 1,
    file: textOf(file),
    dataset:
      dataset === undefined || dataset.version === null
        ? (dataset?.name ?? null)
        : `${dataset.name}@${dataset.version}`,
    datasetId: dataset?.id ?? null,
    datasetVersion: dataset?.version == null ? null : Number(dataset.version),
    dataHash: dataHash ?? null,
  };
}

function textOf(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}

/** Refuses to resume an experiment as a different one; reports all differences at once. */
export function checkSameExperiment(known: Run, run: Run): void {
  const differing = [...differences(known, run)];
  if (differing.length === 0) return;
  throw new RolloutError("config_invalid", `experiment "${run.id}" cannot be resumed: ${differing.join("; ")}`, {
    hint: "resume it with what it was started with, which is what --resume takes by default, or start a new one",
  });
}

function* differences(known: Run, run: Run): Iterable<string> {
  const [before, now] = [readPlan(known), readPlan(run)];
  const changed = (what: string, was: unknown, is: unknown): string[] =>
    isDeepStrictEqual(was, is) ? [] : [`${what} was ${text(was)}, not ${text(is)}`];
  yield* changed("the experiment", before.experiment, now.experiment);
  if (before.datasetId !== now.datasetId || before.dataHash !== now.dataHash)
    yield `the examples of ${before.dataset ?? "its dataset"} were others`;
  else yield* changed("the version of the dataset", before.datasetVersion, now.datasetVersion);
  yield* changed("--repetitions", before.repetitions, now.repetitions);
  yield* changed("--pass-at", before.passAt, now.passAt);
  yield* changed("the list of evaluators", before.evaluators, now.evaluators);
  for (const name of new Set([...Object.keys(before.params), ...Object.keys(now.params)]))
    yield* changed(`parameter ${name}`, before.params[name], now.params[name]);
}

function text(value: unknown): string {
  return value === undefined ? "not there" : JSON.stringify(value);
}
