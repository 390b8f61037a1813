import { displayWidth, fitWidth, plainText } from "../base/terminal-text.ts";
import type { FailureCause } from "../store/run.ts";
import { countText, groupDigits } from "./number-text.ts";
import type { Style } from "./style.ts";
import type { FailureDetails, RunSummary } from "./summarize-tally.ts";
import { entryRoom, renderEntry } from "./summary-entry.ts";
import { wrapText, wrapWords } from "./text-table.ts";

const mostTypes = 10;
const causeWords: Readonly<Record<FailureCause, string>> = {
  agent: "by the agent",
  task: "by the task",
  executor: "by the executor",
  configuration: "by the configuration",
  infrastructure: "by infrastructure",
  rollout: "by Rollout itself",
  cancelled: "cancelled",
};
const mostCauses = 3;
// Enough for the longest name that a message begins with.
const mostLines = 3;

/** The failures of a run by type, and within a type by what led to it. */
export function renderFailures(summary: RunSummary, columns: number, style: Style): string[] {
  const { failures } = summary;
  if (failures.length === 0) return [];
  const shown = failures.slice(0, mostTypes);
  const width = groupDigits(shown[0]?.count ?? 0).length;
  const hidden = failures.length - shown.length;
  const words = summary.run.kind === "dataset" ? { ...causeWords, agent: "by the target" } : causeWords;
  const whose = summary.causes.map(({ cause, count }) => `${groupDigits(count)} ${words[cause]}`).join(", ");
  return [
    style.dim(fitWidth(whose === "" ? "failures" : `failures: ${whose}`, columns)),
    ...shown.flatMap((failure) => renderType(failure, width, summary, columns, style)),
    ...(hidden > 0 ? [style.dim(`  + ${countText(hidden, "more type")}`)] : []),
  ];
}

function renderType(
  failure: FailureDetails,
  width: number,
  summary: RunSummary,
  columns: number,
  style: Style,
): string[] {
  const { count, causes, scored } = failure;
  const room = entryRoom({ width, columns });
  const origin = sharedOrigin(failure);
  const only = causes.length === 1 ? causes[0] : undefined;
  const kept = scored > 0 ? `${countText(scored, summary.run.shape.unitNoun)} scored all the same` : "";
  const lines = [
    ...(only ? wrapText(plainText(only.firstMessage), room, mostLines) : renderCauses(failure, room, style)),
    ...renderPlaces(failure, summary, room),
    ...wrapText(kept, room, 2),
  ];
  const title = { text: plainText(withOrigin(failure.type, origin)), paint: style.red };
  return renderEntry({ count, title, lines, example: only?.example ?? null }, { width, columns, style });
}

function renderCauses(failure: FailureDetails, columns: number, style: Style): string[] {
  const { causes, otherUnits } = failure;
  const shown = causes.slice(0, mostCauses);
  const width = groupDigits(shown[0]?.count ?? 0).length;
  const isShared = sharedOrigin(failure) !== null;
  const hidden = causes.length - shown.length;
  const entries = shown.flatMap(({ count, origin, firstMessage, example }) => {
    const room = entryRoom({ width, columns });
    const [text = "", ...lines] = wrapCause(firstMessage, isShared ? null : origin, room);
    return renderEntry({ count, title: { text }, lines, example }, { width, columns, style });
  });
  // Beyond those that were told apart nobody knows how many there are.
  const rest = otherUnits > 0 ? `at least ${countText(hidden + 1, "more cause")}` : countText(hidden, "more cause");
  return [...entries, ...(hidden > 0 ? [style.dim(`  + ${rest}`)] : [])];
}

/** A message in a few lines, whose origin is still read when the message is too long. */
function wrapCause(message: string, origin: string | null, columns: number): string[] {
  const text = plainText(message).trim() || "no message";
  if (origin === null) return wrapText(text, columns, mostLines);
  const end = plainText(` (${origin})`);
  const lines = wrapText(text, columns, mostLines);
  const last = fitWidth(lines.at(-1) ?? "", columns - displayWidth(end));
  return [...lines.slice(0, -1), last + end];
}

/** Where all failures of a type come from; null when they do not say so or not all the same. */
function sharedOrigin({ causes, otherUnits }: FailureDetails): string | null {
  const origins = new Set(causes.map(({ origin }) => origin));
  return origins.size === 1 && otherUnits === 0 ? (causes[0]?.origin ?? null) : null;
}

function withOrigin(text: string, origin: string | null): string {
  return origin === null ? text : `${text} (${origin})`;
}

/** How many there are in which row: `cpe/swe-smoke 2, oracle/swe-smoke 1`. */
function renderPlaces({ type }: FailureDetails, { run, groups }: RunSummary, columns: number): string[] {
  if (groups.length < 2) return [];
  const places = groups.flatMap(({ labels, failures }) => {
    const own = failures.find((failure) => failure.type === type);
    const name = run.shape.groupBy.map((label) => labels[label] ?? "").join("/");
    return own ? [plainText(`${name} ${groupDigits(own.count)}`)] : [];
  });
  return wrapWords(
    places.map((place, index) => (index < places.length - 1 ? `${place},` : place)),
    columns,
    2,
  );
}
