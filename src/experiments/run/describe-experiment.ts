import type { JsonObject } from "../../base/json.ts";
import { describeProblems } from "../executor/protocol-problems.ts";
import type { RunHead, Unit, UnitFailure, WholeMark } from "../../store/run.ts";
import type { PlannedRun } from "./example.ts";
import type { FinishedRun } from "./experiment-run.ts";
import type { ExperimentSummary, Scoring, WholeAnswer } from "./experiment-tally.ts";

/** What an experiment is shown under. */
export interface ExperimentNames {
  readonly id: string;
  readonly name: string;
  /** The first is what the experiment is about. */
  readonly evaluators: readonly string[];
  /** Runs in all. */
  readonly total: number;
  readonly repetitions: number;
  readonly concurrency: number;
  /** A run passes whose first evaluator gives at least this. */
  readonly passAt: number;
  readonly params: JsonObject;
  readonly location: string;
}

/** The beginning of an experiment in the words that all doors share. */
export function describeHead(names: ExperimentNames): RunHead {
  const { id, name, evaluators, total, repetitions, concurrency, passAt, params, location } = names;
  const [first = "", ...others] = evaluators;
  return {
    id,
    kind: "experiment",
    name: id,
    total,
    groups: [{ labels: { experiment: name }, total }],
    concurrency,
    shape: {
      groupBy: ["experiment"],
      itemLabel: "example",
      markName: first,
      otherMarks: others,
      tellsCost: false,
      passAt,
      isScore: first !== "",
      ...(repetitions > 1 ? { itemCount: Math.round(total / repetitions) } : {}),
      unitNoun: "run",
    },
    metrics: [],
    params,
    location,
  };
}

export function labelsOf(
  { example, repetition }: PlannedRun,
  { name, repetitions }: Pick<ExperimentNames, "name" | "repetitions">,
): Record<string, string> {
  const labels = { experiment: name, example: example.id };
  return repetitions === 1 ? labels : { ...labels, repetition: String(repetition) };
}

/** A run in the words that all doors share. */
export function toUnit(
  { run, outcome, failureType, evaluations, durationMs }: Omit<FinishedRun, "isKept">,
  names: Pick<ExperimentNames, "name" | "repetitions">,
): Unit {
  return {
    key: run.runId,
    labels: labelsOf(run, names),
    marks: evaluations.map(({ evaluator, score, label }) =>
      label === null ? { name: evaluator, value: score } : { name: evaluator, value: score, label },
    ),
    failure: failureOf(outcome.error, failureType),
    phases: [],
    durationSec: durationMs / 1000,
    cost: null,
    tries: 1,
    ...(outcome.output === null ? {} : { outputJson: outcome.output }),
    warnings: evaluations.flatMap(({ evaluator, error }) =>
      error === null ? [] : [`evaluator "${evaluator}" failed: ${error}`],
    ),
  };
}

function failureOf(error: string | null, type: FinishedRun["failureType"]): UnitFailure | null {
  if (error === null) return null;
  return { type: type ?? "task_failed", message: error, blame: type === "executor_lost" ? "executor" : "task" };
}

/** What was said of the run as a whole; what was said before others were asked anew is marked so. */
export function toWholeMark(answer: WholeAnswer, scorings: readonly Scoring[]): WholeMark {
  const { aggregate, score, label, explanation, error, asOf } = answer;
  const isOld = scorings.some(({ at }) => at > asOf);
  const words = [error ?? label, error ? null : explanation, isOld ? "from before it was scored anew" : null];
  return {
    name: aggregate,
    value: score,
    note: words.filter((word) => word != null && word !== "").join("; ") || null,
  };
}

/** What else people should know of an experiment: how often it was scored anew and by what, and protocol problems. */
export function describeNotes({
  scorings,
  protocolProblems,
}: Pick<ExperimentSummary, "scorings" | "protocolProblems">): string[] {
  const problems = describeProblems(protocolProblems);
  const scored = scorings.map(
    ({ at, file, evaluators }) =>
      `scored anew ${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC by ${file}: ${evaluators.join(", ")}`,
  );
  return problems === null ? scored : [...scored, problems];
}
