import { parseRaw, type RawJson } from "../../base/raw-json.ts";
import type { RawMembers } from "../../base/raw-members.ts";
import type { Capability, DiscoverAnswer } from "../protocol.ts";
import type { WireMessage } from "../wire/read-line.ts";
import type { ExecutorNote } from "./executor-voice.ts";
import { errorOf, numberOf, textOf } from "./read-outcome.ts";

export type ControlCommand = "discover" | "init" | "shutdown";

// An answer has at least one of these. An object that only names a run is a line of somebody's log.
const results = ["output", "score", "error", "metadata", "label", "explanation", "cancelled"];
// Only an evaluator gives these, so they must come with its name.
const scores = ["score", "label", "explanation"];

/** Whether a message is the answer to a command that is answered before anything else is asked. */
export function answersControl(command: ControlCommand, { members }: WireMessage): boolean {
  if (errorOf(members) !== null && !members.has("run_id")) return true;
  return members.has(command === "discover" ? "protocol_version" : "ok");
}

/** Whether a message names what it answers, and has a result. Without a mark the result must be written out. */
export function isAnswer({ members, isMarked }: WireMessage, used: ReadonlySet<Capability>): boolean {
  const hasId = used.has("ids") && numberOf(members, "id") !== null;
  const isNamed = used.has("aggregate") && textOf(members, "aggregate") !== null;
  if (!hasId && !isNamed && textOf(members, "run_id") === null) return false;
  const isTask = members.has("output") || errorOf(members) !== null;
  if (!isTask && scores.some((name) => members.has(name)))
    return hasId || isNamed || textOf(members, "evaluator") !== null;
  return isMarked || results.some((name) => members.has(name));
}

export function taskKey(runId: string): string {
  return `task ${runId}`;
}

/** The length keeps an id with spaces apart from a name with spaces. */
export function evalKey(runId: string, evaluator: string): string {
  return `eval ${runId.length} ${runId} ${evaluator}`;
}

export function aggregateKey(aggregate: string): string {
  return `aggregate ${aggregate}`;
}

/** Returns the key of the call that an answer without an id belongs to; null if it does not name one. */
export function keyOf(members: RawMembers): string | null {
  const runId = textOf(members, "run_id");
  if (runId === null) {
    const aggregate = textOf(members, "aggregate");
    return aggregate === null ? null : aggregateKey(aggregate);
  }
  const evaluator = textOf(members, "evaluator");
  return evaluator === null ? taskKey(runId) : evalKey(runId, evaluator);
}

/** What an experiment has, whatever is missing or of the wrong kind. */
export function readDiscovered(members: RawMembers): DiscoverAnswer {
  const { params, evaluators, aggregates, capabilities, ...texts } = Object.fromEntries(
    Array.from(members, ([name, raw]) => [name, parseRaw(raw)]),
  );
  return {
    protocol_version: asText(texts["protocol_version"]) ?? "1.0",
    name: asText(texts["name"]),
    description: asText(texts["description"]),
    // One that says nothing of its task may have one.
    ...("task" in texts ? { task: asText(texts["task"]) } : {}),
    evaluators: asNames(evaluators),
    aggregates: asNames(aggregates),
    capabilities: asNames(capabilities),
    params: typeof params === "object" && params !== null ? (params as DiscoverAnswer["params"]) : {},
  };
}

/** What user code printed, out of a log message. */
export function readLog(log: RawJson): ExecutorNote & { readonly kind: "output" } {
  const { run_id: runId, stream, text } = Object(parseRaw(log)) as Record<string, unknown>;
  return {
    kind: "output",
    runId: asText(runId),
    stream: asText(stream) ?? "log",
    text: typeof text === "string" ? text : (JSON.stringify(text) ?? ""),
  };
}

function asText(value: unknown): string | null {
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : null;
}

function asNames(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name): name is string => typeof name === "string") : [];
}
