import { isRecord } from "./is-record.ts";
import { isMessages, textOf } from "./text-of.ts";

/** A JSON value, or why a text holds none. */
export type JsonValue =
  | { readonly isJson: true; readonly value: unknown }
  | { readonly isJson: false; readonly reason: string };

const answerKeys = ["finishReason", "steps", "toolCalls", "scoringData"];

/**
 * The JSON value of an output: parsed from a text (a fence of Markdown around it is left out), the `object` of an agent's
 * structured answer, or the value as it is.
 */
export function jsonValueOf(output: unknown): JsonValue {
  if (typeof output === "string") return parse(output);
  if (isAnswer(output)) {
    const object = output["object"];
    return object === undefined || object === null ? parse(output.text) : { isJson: true, value: object };
  }
  if (isMessages(output)) return parse(textOf(output) ?? "");
  return { isJson: true, value: output };
}

function isAnswer(value: unknown): value is { readonly text: string } & Readonly<Record<string, unknown>> {
  return isRecord(value) && typeof value["text"] === "string" && answerKeys.some((key) => key in value);
}

function parse(text: string): JsonValue {
  const fenced = /^\s*```[\w-]*\s*\n([\s\S]*?)\n?\s*```\s*$/.exec(text)?.[1];
  try {
    return { isJson: true, value: JSON.parse(fenced ?? text) };
  } catch {
    return { isJson: false, reason: "the output is not JSON" };
  }
}
