import type { Json, JsonObject } from "../../base/json.ts";
import type { Run } from "../../store/run.ts";
import { ProblemCounter, type ProtocolProblems } from "../executor/protocol-problems.ts";
import type { RunAnswer, Scoring } from "../run/experiment-tally.ts";
import { readPlan } from "./plan-experiment.ts";

/** What earlier sessions left of an experiment as a whole. */
export interface EarlierSessions {
  readonly run: Run;
  /** The evaluators it was started with, then those that scored it later. */
  readonly evaluators: readonly string[];
  readonly aggregates: readonly RunAnswer[];
  readonly scorings: readonly Scoring[];
  readonly protocolProblems: ProtocolProblems;
}

/** Reads what earlier sessions of an experiment left. */
export function readEarlierSessions(run: Run): EarlierSessions {
  const { evaluators } = readPlan(run);
  const { details } = run;
  const later = Object.keys(objectOf(details["average_scores"]));
  return {
    run,
    evaluators: [...new Set([...evaluators, ...later])],
    aggregates: listOf(details["aggregates"]).map(readAggregate),
    scorings: listOf(details["scorings"]).map(readScoring),
    protocolProblems: new ProblemCounter().totalWith(objectOf(details["protocol_problems"])),
  };
}

function readAggregate(entry: JsonObject): RunAnswer {
  const { aggregate, score, label, explanation, metadata, error, as_of: asOf } = entry;
  return {
    id: 0,
    aggregate: textOf(aggregate) ?? "",
    score: typeof score === "number" ? score : null,
    label: textOf(label),
    explanation: textOf(explanation),
    metadata: objectOf(metadata),
    error: textOf(error),
    asOf: timeOf(asOf),
  };
}

function readScoring({ at, file, evaluators, params }: JsonObject): Scoring {
  return {
    at: timeOf(at),
    file: textOf(file) ?? "",
    evaluators: Array.isArray(evaluators) ? evaluators.map(String) : [],
    params: objectOf(params),
  };
}

function listOf(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

function objectOf(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

function textOf(value: Json | undefined): string | null {
  return typeof value === "string" ? value : null;
}

function timeOf(value: Json | undefined): number {
  return Date.parse(textOf(value) ?? "") || 0;
}
