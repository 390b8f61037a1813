import type { Usage } from "../../scoring/scorer.ts";
import { readField, readNumber } from "./read-field.ts";

const kept = [
  "text",
  "object",
  "toolCalls",
  "toolResults",
  "sources",
  "files",
  "usage",
  "reasoningText",
  "finishReason",
] as const;

/** What is worth keeping of an answer; those of agent libraries carry the whole conversation and its machinery. */
export function trimAnswer(result: unknown): unknown {
  if (typeof result !== "object" || result === null || !("text" in result)) return result ?? null;
  const trimmed: Record<string, unknown> = {};
  for (const name of kept) {
    const value = readField(result, name);
    if (value !== undefined) trimmed[name] = value;
  }
  return trimmed;
}

/** What an answer says it used up. */
export function readUsage(result: unknown): Usage | null {
  const usage = readField(result, "totalUsage") ?? readField(result, "usage");
  if (typeof usage !== "object" || usage === null) return null;
  return {
    costUsd: readNumber(usage, "costUsd", "cost_usd"),
    inputTokens: readNumber(usage, "inputTokens", "promptTokens"),
    outputTokens: readNumber(usage, "outputTokens", "completionTokens"),
  };
}
