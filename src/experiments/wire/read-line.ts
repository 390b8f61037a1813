import { JsonText } from "../../base/json-text.ts";
import { RawMembers } from "../../base/raw-members.ts";

/** A message of an executor: its members as they are written. */
export interface WireMessage {
  readonly members: RawMembers;
  /** It had numbers that JSON lacks; they became null. */
  readonly hadNonFinite: boolean;
}

/** What one line of an executor holds: what user code printed, and at most one message. */
export interface WireLine {
  readonly message: WireMessage | null;
  /** Before and after the message, or the whole line. */
  readonly printed: string;
}

// Only what has one of these is a message; other JSON is what a program printed.
const marks = ["run_id", "evaluator", "ok", "protocol_version", "error", "log", "heartbeat", "aggregate", "data"];
// Text that is full of brackets is not worth more looks than this.
const mostTries = 64;
const nonFinite = /"(?:[^"\\]|\\.)*"|-?\bInfinity\b|\bNaN\b/g;

/** Reads a line: a message alone, a message with text around it that had no line end, or text. */
export function readLine(source: JsonText, from: number, to: number): WireLine {
  const whole = source.scanObject(from, to);
  if (whole !== null && isMessage(whole)) return { message: { members: whole, hadNonFinite: false }, printed: "" };
  if (whole !== null) return { message: null, printed: source.slice(from, to) };
  return readAmong(source, from, to) ?? readNonFinite(source.slice(from, to));
}

function readAmong(source: JsonText, from: number, to: number): WireLine | null {
  let at = source.find("{", from, to);
  for (let tries = 0; at !== -1 && tries < mostTries; tries++, at = source.find("{", at + 1, to)) {
    const members = new RawMembers();
    const end = source.scanObjectAt(at, members);
    if (end !== -1 && isMessage(members))
      return { message: { members, hadNonFinite: false }, printed: source.slice(from, at) + source.slice(end, to) };
  }
  return null;
}

function readNonFinite(line: string): WireLine {
  const text = { message: null, printed: line };
  if (!line.includes("NaN") && !line.includes("Infinity")) return text;
  const mended = line.replace(nonFinite, (token) => (token.startsWith('"') ? token : "null"));
  if (mended === line) return text;
  const source = JsonText.of(mended);
  const whole = source.scanObject(0, source.length);
  if (whole !== null && isMessage(whole)) return { message: { members: whole, hadNonFinite: true }, printed: "" };
  const read = readAmong(source, 0, source.length);
  return read?.message ? { message: { ...read.message, hadNonFinite: true }, printed: read.printed } : text;
}

function isMessage(members: RawMembers): boolean {
  return marks.some((mark) => members.has(mark));
}
