import { scanObject, scanObjectAt, type RawJson } from "../../base/raw-json.ts";

/** A message of an executor: its members as they are written. */
export interface WireMessage {
  readonly members: ReadonlyMap<string, RawJson>;
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
export function readLine(line: string): WireLine {
  const whole = scanObject(line);
  if (whole !== null)
    return isMessage(whole) ? { message: plain(whole), printed: "" } : { message: null, printed: line };
  return readAmong(line) ?? readNonFinite(line) ?? { message: null, printed: line };
}

function readAmong(line: string): WireLine | null {
  let at = line.indexOf("{");
  for (let tries = 0; at !== -1 && tries < mostTries; tries++, at = line.indexOf("{", at + 1)) {
    const found = scanObjectAt(line, at);
    if (found !== null && isMessage(found.members))
      return { message: plain(found.members), printed: line.slice(0, at) + line.slice(found.end) };
  }
  return null;
}

function readNonFinite(line: string): WireLine | null {
  if (!line.includes("NaN") && !line.includes("Infinity")) return null;
  const mended = line.replace(nonFinite, (token) => (token.startsWith('"') ? token : "null"));
  if (mended === line) return null;
  const whole = scanObject(mended);
  const read = whole !== null && isMessage(whole) ? { message: plain(whole), printed: "" } : readAmong(mended);
  return read?.message ? { message: { ...read.message, hadNonFinite: true }, printed: read.printed } : null;
}

function isMessage(members: ReadonlyMap<string, RawJson>): boolean {
  return marks.some((mark) => members.has(mark));
}

function plain(members: ReadonlyMap<string, RawJson>): WireMessage {
  return { members, hadNonFinite: false };
}
