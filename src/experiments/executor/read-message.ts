import { parseRaw } from "../../base/raw-json.ts";
import type { RawMembers } from "../../base/raw-members.ts";
import type { DiscoverAnswer } from "../protocol.ts";
import type { ExecutorNote } from "./executor-voice.ts";
import { textOf } from "./read-outcome.ts";

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
  const aggregate = textOf(members, "aggregate");
  if (aggregate !== null) return aggregateKey(aggregate);
  const runId = textOf(members, "run_id");
  if (runId === null) return null;
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

/** What user code printed; null when the message is something else. */
export function readLog(members: RawMembers): (ExecutorNote & { readonly kind: "output" }) | null {
  const raw = members.get("log");
  if (raw === undefined) return null;
  const { run_id: runId, stream, text } = Object(parseRaw(raw)) as Record<string, unknown>;
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
