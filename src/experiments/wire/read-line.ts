import type { JsonText } from "../../base/json-text.ts";
import { RawMembers } from "../../base/raw-members.ts";

/** A JSON object that has what messages of an executor have. */
export interface WireMessage {
  readonly members: RawMembers;
  /** It has the mark `__cat__`, or the list does that it stands in. */
  readonly isMarked: boolean;
  readonly from: number;
  readonly to: number;
}

/** The messages in a line of an executor, and the text around them. */
export interface WireLine {
  readonly messages: readonly WireMessage[];
  readonly printed: string;
  /** The text has parts of a message that was cut off, or that another one was written into. */
  readonly isTorn: boolean;
}

// Only an object with one of these can be a message.
const marks = ["run_id", "evaluator", "ok", "protocol_version", "error", "log", "heartbeat", "aggregate", "data"];
const minTries = 64;
const maxIndent = 64;
// Brackets that begin no object are tried as long as that costs no more than reading this many bytes.
const maxTriedBytes = 1 << 26;
const tornPart = /"(?:run_id|__cat__)"\s*:/;

/** Reads a line: messages, with or without text around them that had no line end, or text. */
export function readLine(source: JsonText, from: number, to: number): WireLine {
  const members = source.scanObject(from, to);
  if (members === null) return readAmong(source, from, to, true);
  if (!isMessage(members)) return { messages: [], printed: source.slice(from, to), isTorn: false };
  return { messages: expandList(source, toMessage(members, from, to)), printed: "", isTorn: false };
}

/**
 * Reads the messages at the beginning of a line whose end is still to come. The text is what stands before the last of
 * them. An object that is not complete ends the reading: those inside it are parts of it.
 */
export function readBegunLine(source: JsonText, from: number, to: number): WireLine & { readonly end: number } {
  return readAmong(source, from, to, false);
}

/** `end` is where the last message ends. */
function readAmong(source: JsonText, from: number, to: number, isWhole: boolean): WireLine & { readonly end: number } {
  const messages: WireMessage[] = [];
  let line = { messages, printed: "", isTorn: false, end: from };
  let printed = "";
  let isTorn = false;
  let done = from;
  let tries = isWhole ? Math.max(minTries, Math.floor(maxTriedBytes / (to - from))) : 1;
  let at = source.find("{", from, to);
  while (at !== -1 && tries > 0) {
    const members = new RawMembers();
    const end = source.scanFlawedObjectAt(at, members);
    if (end === -1) {
      if (isWhole || mayBeginObject(source, at)) tries--;
      at = source.find("{", at + 1, to);
      continue;
    }
    const before = source.slice(done, at);
    isTorn ||= tornPart.test(before);
    printed += before;
    if (isMessage(members)) {
      messages.push(...expandList(source, toMessage(members, at, end)));
      line = { messages, printed, isTorn, end };
    } else printed += source.slice(at, end);
    done = end;
    at = source.find("{", end, to);
  }
  if (!isWhole) return line;
  const rest = source.slice(done, to);
  return { ...line, printed: printed + rest, isTorn: isTorn || tornPart.test(rest) };
}

/** False for a bracket that begins no object, whatever comes behind the end of the line so far. */
function mayBeginObject(source: JsonText, at: number): boolean {
  return /^\{\s*(?:"|$)/.test(source.slice(at, at + maxIndent));
}

/** The answers in a message that is a list of them; any other is itself. */
function expandList(source: JsonText, message: WireMessage): readonly WireMessage[] {
  const { members, isMarked, from, to } = message;
  if (!members.has("data") || members.has("run_id")) return [message];
  const inner = readAmong(source, source.find("{", from) + 1, to, true);
  const entries = inner.messages.filter((entry) => entry.members.has("run_id"));
  return entries.length === 0 ? [message] : entries.map((entry) => (isMarked ? { ...entry, isMarked } : entry));
}

function toMessage(members: RawMembers, from: number, to: number): WireMessage {
  return { members, isMarked: members.has("__cat__"), from, to };
}

function isMessage(members: RawMembers): boolean {
  if (marks.some((mark) => members.has(mark))) return true;
  return members.has("id") && (members.has("output") || members.has("score"));
}
