import type { Json, JsonObject } from "../../base/json.ts";
import type { RunRecord } from "../../store/run-store.ts";
import { ProblemCounter, type ProtocolProblems } from "../executor/protocol-problems.ts";
import type { Scoring, WholeAnswer } from "../run/experiment-tally.ts";
import { readPlan } from "./plan-experiment.ts";

/** What the sessions of an experiment before this one left of it as a whole. */
export interface EarlierSessions {
  readonly name: string;
  readonly params: JsonObject;
  /** All that had their say: those it was begun with, then those that came later. */
  readonly evaluators: readonly string[];
  readonly aggregates: readonly WholeAnswer[];
  readonly scorings: readonly Scoring[];
  readonly protocolProblems: ProtocolProblems;
  /** Of its runs, without what was scored anew; null where nobody knows. */
  readonly durationSec: number | null;
  readonly sessions: number;
}

/** Reads what is kept of an experiment's earlier sessions; one that was killed left no times. */
export function readEarlierSessions(record: RunRecord): EarlierSessions {
  const { params, evaluators } = readPlan(record);
  const summary = objectOf(record.summary);
  const later = Object.keys(objectOf(summary["average_scores"]));
  const { duration_sec: durationSec, sessions } = summary;
  return {
    name: record.name,
    params,
    evaluators: [...new Set([...evaluators, ...later])],
    aggregates: listOf(summary["aggregates"]).map(readAggregate),
    scorings: listOf(summary["scorings"]).map(readScoring),
    protocolProblems: new ProblemCounter().totalWith(objectOf(summary["protocol_problems"])),
    durationSec: typeof durationSec === "number" ? durationSec : null,
    sessions: typeof sessions === "number" ? sessions : 1,
  };
}

function readAggregate(entry: JsonObject): WholeAnswer {
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
