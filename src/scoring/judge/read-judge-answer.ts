import { isRecord } from "../is-record.ts";
import { shown } from "../shown.ts";
import { labelOf, labelsOf, type JudgeScale, type Rating } from "./judge-scale.ts";

/** What a judge meant, or why that cannot be told. */
export type JudgeAnswer =
  | { readonly isRead: true; readonly rating: Rating; readonly reason: string | null }
  | { readonly isRead: false; readonly why: string };

const ratingKeys = ["score", "choice", "rating", "verdict", "label", "grade", "mark", "answer"];
const reasonKeys = ["reason", "reasoning", "explanation", "rationale", "justification"];
const mostOpenings = 100;
const longestAnswer = 100_000;
const longestReason = 2000;

/**
 * Reads an answer as it comes: the JSON object that was asked for, also in a fence or behind other words, a value on a
 * line of its own, or behind a word such as "Score:". What stands last counts; a number off the scale does not.
 */
export function readJudgeAnswer(answer: string, scale: JudgeScale): JudgeAnswer {
  const text = answer.slice(-longestAnswer).trim();
  if (text === "") return { isRead: false, why: "the answer is empty" };
  const object = lastObject(text);
  if (object !== null) return readObject(object, scale);
  const rating = readPlain(text, scale);
  if (rating === null) return { isRead: false, why: `no ${"choices" in scale ? "choice" : "score"} in ${shown(text)}` };
  return typeof rating === "object"
    ? { isRead: false, why: rating.why }
    : { isRead: true, rating, reason: short(text) };
}

type Keyed = Readonly<Record<string, unknown>>;

// The outermost object that ends with the last brace and says something about a rating.
function lastObject(text: string): Keyed | null {
  const end = text.lastIndexOf("}") + 1;
  let found: Keyed | null = null;
  let start = end;
  for (let tries = 0; tries < mostOpenings && start > 0; tries++) {
    start = text.lastIndexOf("{", start - 1);
    if (start === -1) break;
    const value = parsed(text.slice(start, end));
    if (isRecord(value) && valueOf(value, ratingKeys) !== undefined) found = value;
  }
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function valueOf(object: Keyed, keys: readonly string[]): unknown {
  const entries = new Map(Object.entries(object).map(([key, value]) => [key.toLowerCase(), value]));
  return keys.map((key) => entries.get(key)).find((value) => value !== undefined);
}

function readObject(object: Keyed, scale: JudgeScale): JudgeAnswer {
  const value = valueOf(object, ratingKeys);
  const rating = ratingOf(value, scale);
  if (rating === null) return { isRead: false, why: `${shown(value)} is not on the scale` };
  const reason = valueOf(object, reasonKeys);
  return { isRead: true, rating, reason: typeof reason === "string" ? short(reason) : null };
}

function ratingOf(value: unknown, scale: JudgeScale): Rating | null {
  if (typeof value === "string") return readValue(value, scale);
  if (typeof value !== "number") return null;
  return "choices" in scale ? labelOf(String(value), scale) : onScale(value, scale);
}

function onScale(value: number, scale: { readonly min: number; readonly max: number }): number | null {
  return value >= scale.min && value <= scale.max ? value : null;
}

function readPlain(text: string, scale: JudgeScale): Rating | null | { readonly why: string } {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const alone = readValue(lines.at(-1) ?? "", scale) ?? readValue(lines.at(0) ?? "", scale);
  if (alone !== null) return alone;
  const named = [...text.matchAll(namedValue(scale))].map(([, value = ""]) => value);
  const [first] = named;
  if (first === undefined) return null;
  // One of them may be a quotation.
  if (new Set(named.map((value) => readValue(value, scale))).size > 1) return { why: "the answer names several" };
  return readValue(first, scale) ?? { why: `${shown(first)} is not on the scale` };
}

// "Score: 4", "**Rating (1-5):** 4/5", "the verdict is pass".
function namedValue(scale: JudgeScale): RegExp {
  const number = String.raw`-?\d+(?:\.\d+)?(?:\s*(?:\/|out of)\s*\d+(?:\.\d+)?)?`;
  const values = "choices" in scale ? labelsOf(scale).map(escaped).join("|") : number;
  const between = String.raw`(?:\s*\([^)\n]{0,40}\))?(?:[\s*_"'\x60:=]|is)*?`;
  const words = ratingKeys.join("|");
  return new RegExp(String.raw`(?<![\p{L}\p{N}])(?:${words})${between}(${values})(?![\p{L}\p{N}]|[.,]\d)`, "giu");
}

// A value alone, with at most the marks around it that Markdown and sentences have.
function readValue(text: string, scale: JudgeScale): Rating | null {
  const bare = text.replace(/^(?:[\s*_"'`#>]|-\s)+/, "").replace(/[\s*_"'`.!]+$/, "");
  if ("choices" in scale) return labelOf(text, scale) ?? labelOf(bare, scale);
  const match = /^(-?\d+(?:\.\d+)?)(?:\s*(?:\/|out of)\s*(\d+(?:\.\d+)?))?$/i.exec(bare);
  if (!match || (match[2] !== undefined && Number(match[2]) !== scale.max)) return null;
  return onScale(Number(match[1]), scale);
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`);
}

function short(text: string): string {
  return text.length > longestReason ? `${text.slice(0, longestReason)}…` : text;
}
