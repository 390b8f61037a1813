import { parseRaw, type RawJson } from "../../base/raw-json.ts";
import type { MemberFlaw, RawMembers } from "../../base/raw-members.ts";
import type { AggregateAnswer } from "../protocol.ts";
import type { EvalOutcome, TaskOutcome } from "./executor.ts";

/** The text in a member; null when it is none. */
export function textOf(members: RawMembers, name: string): string | null {
  const raw = members.get(name);
  if (raw === undefined || raw.charCodeAt(0) !== 34) return null;
  return raw.includes("\\") ? (parseRaw(raw) as string) : raw.slice(1, -1);
}

export function numberOf(members: RawMembers, name: string): number | null {
  const raw = members.get(name);
  const value = raw === undefined ? Number.NaN : Number(raw);
  return Number.isFinite(value) && raw !== "" && raw !== "null" && raw?.charCodeAt(0) !== 34 ? value : null;
}

/** The same that is neither absent nor null. */
function rawOf(members: RawMembers, name: string): RawJson | null {
  const raw = members.get(name);
  return raw === undefined || raw === "null" ? null : raw;
}

/** What went wrong, in whatever form it is told; null when nothing did. */
export function errorOf(members: RawMembers): string | null {
  const raw = rawOf(members, "error");
  if (members.flawOf("error") === "too_deep") return `the error ${flawTexts.too_deep}`;
  if (raw === null) return null;
  const text = textOf(members, "error");
  return text === null ? raw : text === "" ? null : text;
}

const flawTexts: Readonly<Record<MemberFlaw, string>> = {
  non_finite: "holds NaN or Infinity, which are not JSON numbers",
  too_deep: "is nested too deep to be read",
};

/** Says what is wrong with a member; null if nothing is. */
export function describeFlaw(members: RawMembers, name: string, whose = ""): string | null {
  const flaw = members.flawOf(name);
  return flaw === null ? null : `the ${name}${whose} ${flawTexts[flaw]}`;
}

export function readTaskOutcome(members: RawMembers): TaskOutcome {
  const error = errorOf(members) ?? describeFlaw(members, "output");
  return {
    output: error === null ? (members.get("output") ?? ("null" as RawJson)) : null,
    metadata: objectOf(members, "metadata"),
    error,
    isCancelled: members.get("cancelled") === "true",
  };
}

export function readEvalOutcome(members: RawMembers, evaluator: string): EvalOutcome {
  const error = errorOf(members) ?? (members.flawOf("score") === null ? null : "the score is not a finite number");
  const score = numberOf(members, "score");
  return {
    evaluator,
    // A failed evaluation has no score, whatever stands there.
    score: error === null ? score : null,
    label: textOf(members, "label"),
    explanation: textOf(members, "explanation"),
    metadata: objectOf(members, "metadata"),
    error: error ?? (score === null ? describeWrongScore(rawOf(members, "score")) : null),
  };
}

function describeWrongScore(raw: RawJson | null): string | null {
  return raw === null ? null : `the score is not a number: ${raw.length > 100 ? `${raw.slice(0, 100)}…` : raw}`;
}

export function readAggregate(members: RawMembers, aggregate: string): AggregateAnswer {
  const { score, label, explanation, metadata, error } = readEvalOutcome(members, aggregate);
  const parsed = metadata === null ? null : (parseRaw(metadata) as AggregateAnswer["metadata"]);
  return { id: 0, aggregate, score, label, explanation, metadata: parsed, error };
}

function objectOf(members: RawMembers, name: string): RawJson | null {
  const raw = rawOf(members, name);
  return raw !== null && raw.charCodeAt(0) === 123 ? raw : null;
}
