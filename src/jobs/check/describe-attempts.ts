import type { CheckedTrial } from "./task-verdict.ts";

const mostReasons = 3;
const longestMessage = 300;
const headLength = 120;

/** How attempts ended, each way once and the most frequent first: `reward 0 (2 times), verifier_timeout: …`. */
export function describeEnds(trials: readonly CheckedTrial[]): string {
  const ends = countTexts(trials.map(endOf));
  const shown = ends.slice(0, mostReasons).map(({ text, count }) => (count > 1 ? `${text} (${count} times)` : text));
  return [...shown, ...(ends.length > mostReasons ? [`${ends.length - mostReasons} more`] : [])].join("; ");
}

/** What attempts warned of, each warning once with the number of attempts that had it. */
export function describeWarnings(agent: string, trials: readonly CheckedTrial[]): string[] {
  return countTexts(trials.flatMap(({ result }) => result.warnings)).map(
    ({ text, count }) => `${agent}, ${count} of ${trials.length}: ${firstLine(text)}`,
  );
}

/** Texts with how often each is there, the most frequent first. */
function countTexts(texts: readonly string[]): { text: string; count: number }[] {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].map(([text, count]) => ({ text, count })).sort((a, b) => b.count - a.count);
}

function endOf({ result }: CheckedTrial): string {
  if (result.error) return `${result.error.type}: ${inOneLine(result.error.message)}`;
  return result.reward === null ? "no reward" : `reward ${result.reward}`;
}

// What went wrong stands at the beginning, and the last words of what did at the end.
function inOneLine(text: string): string {
  const line = text
    .trim()
    .split(/[\r\n]+/)
    .join(" ");
  if (line.length <= longestMessage) return line;
  return `${line.slice(0, headLength)} … ${line.slice(headLength - longestMessage)}`;
}

function firstLine(text: string): string {
  const [line = ""] = text.trim().split(/[\r\n]/, 1);
  return line.length > longestMessage ? `${line.slice(0, longestMessage)}…` : line;
}
