import { isRecord } from "./is-record.ts";
import { isMessages, partsOf } from "./text-of.ts";

/** A call of a tool. */
export interface ToolCall {
  readonly name: string;
  /** What it was called with; undefined when that is not known or does not matter. */
  readonly args?: unknown;
}

/**
 * The calls of tools in a list of calls, an agent's answer, a message or a list of them, in their order: our own
 * `{ name, args }`, those of Mastra, the AI SDK, chat completions and Anthropic. Null when the value is none of these.
 */
export function readToolCalls(value: unknown): readonly ToolCall[] | null {
  if (isMessages(value)) return callsOfMessages(value);
  if (Array.isArray(value)) return callsOfList(value);
  if (!isRecord(value)) return null;
  const { steps, toolCalls } = value;
  // First, for some answers name only the calls of their last step beside them.
  if (Array.isArray(steps) && steps.length > 0 && steps.every(isStep)) return steps.flatMap(callsOfStep);
  if (Array.isArray(toolCalls)) return callsOfList(toolCalls);
  const answers = isMessages([value]) ? [value] : messagesOfChoices(value["choices"]);
  if (answers !== null) return callsOfMessages(answers);
  if (Array.isArray(value["tool_calls"])) return callsOfList(value["tool_calls"]);
  return null;
}

/** The same of what a model or an agent answered: a text, or an answer that names no calls, made none. */
export function readMadeCalls(output: unknown): readonly ToolCall[] | null {
  const calls = readToolCalls(output);
  if (calls !== null) return calls;
  const isAnswer = typeof output === "string" || (isRecord(output) && typeof output["text"] === "string");
  return isAnswer ? [] : null;
}

function messagesOfChoices(choices: unknown): readonly unknown[] | null {
  if (!Array.isArray(choices) || choices.length === 0) return null;
  // Further choices are other answers to the same question.
  const [first] = choices;
  return isRecord(first) && isRecord(first["message"]) ? [{ role: "assistant", ...first["message"] }] : null;
}

function callsOfMessages(messages: readonly unknown[]): readonly ToolCall[] {
  return messages.flatMap((message) => callsOfMessage(message as Keyed));
}

type Keyed = Readonly<Record<string, unknown>>;

function callsOfList(list: readonly unknown[]): readonly ToolCall[] | null {
  const calls = list.map(callOf);
  return calls.every((call) => call !== null) ? calls : null;
}

function isStep(step: unknown): boolean {
  return isRecord(step) && (Array.isArray(step["toolCalls"]) || Array.isArray(step["content"]));
}

function callsOfStep(step: unknown): readonly ToolCall[] {
  if (!isRecord(step)) return [];
  if (Array.isArray(step["toolCalls"])) return callsOfList(step["toolCalls"]) ?? [];
  return Array.isArray(step["content"]) ? callsOfParts(step["content"]) : [];
}

function callsOfMessage(message: Keyed): readonly ToolCall[] {
  if (message["role"] !== "assistant") return [];
  const named = message["tool_calls"];
  if (Array.isArray(named) && named.length > 0) return callsOfList(named) ?? [];
  const ofParts = callsOfParts(partsOf({ role: "assistant", ...message }));
  if (ofParts.length > 0) return ofParts;
  const invocations = isRecord(message["content"]) ? message["content"]["toolInvocations"] : undefined;
  return Array.isArray(invocations) ? (callsOfList(invocations) ?? []) : [];
}

function callsOfParts(parts: readonly unknown[]): readonly ToolCall[] {
  return parts.flatMap((part) => {
    if (!isRecord(part)) return [];
    const { type, toolInvocation } = part;
    const isCall = type === "tool-call" || type === "tool_use";
    const call = isCall ? callOf(part) : type === "tool-invocation" ? callOf(toolInvocation) : null;
    return call === null ? [] : [call];
  });
}

function callOf(value: unknown): ToolCall | null {
  if (!isRecord(value)) return null;
  const inner = isRecord(value["payload"]) ? value["payload"] : isRecord(value["function"]) ? value["function"] : value;
  const name = inner["toolName"] ?? inner["name"];
  if (typeof name !== "string") return null;
  const args = inner["args"] ?? inner["input"] ?? inner["arguments"];
  return { name, args: typeof args === "string" ? parsed(args) : args };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
