import { messageOf } from "../base/rollout-error.ts";
import { isRecord } from "./is-record.ts";

/**
 * The text of an output: a text, the `text` of an agent's answer, what the assistant said last in a list of messages, the
 * JSON of anything else; null when there is none.
 */
export function textOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  if (value === null || value === undefined) return null;
  if (typeof value !== "object") return messageOf(value);
  if (isMessages(value)) return textOfMessages(value);
  if ("text" in value && typeof value.text === "string") return value.text;
  try {
    return JSON.stringify(value) ?? null;
  } catch {
    return null;
  }
}

/** A message of a conversation, as agents record it. */
export interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly parts?: unknown;
}

/** True for a list of messages of a conversation. */
export function isMessages(value: unknown): value is readonly Message[] {
  return (
    Array.isArray(value) &&
    value.length > 0 &&
    value.every((item) => isRecord(item) && typeof item["role"] === "string")
  );
}

/** The parts of a message, wherever its dialect keeps them; one text part for a plain text. */
export function partsOf({ content, parts }: Message): readonly unknown[] {
  if (Array.isArray(parts)) return parts;
  if (typeof content === "string") return [{ type: "text", text: content }];
  if (Array.isArray(content)) return content;
  if (!isRecord(content)) return [];
  if (Array.isArray(content["parts"])) return content["parts"];
  return typeof content["content"] === "string" ? [{ type: "text", text: content["content"] }] : [];
}

// The last thing that was said: what came before a call of a tool, or in an earlier message, led to it.
function textOfMessages(messages: readonly Message[]): string | null {
  let texts: string[] = [];
  for (const message of messages.filter(({ role }) => role === "assistant")) {
    let isAnew = true;
    for (const part of partsOf(message).filter(isRecord)) {
      const text = part["type"] === "text" && typeof part["text"] === "string" ? part["text"] : null;
      if (text === null) isAnew ||= /^(?:tool-|step-start$)/.test(String(part["type"]));
      else {
        if (isAnew) texts = [];
        texts.push(text);
        isAnew = false;
      }
    }
  }
  return texts.length === 0 ? null : texts.join("\n");
}
