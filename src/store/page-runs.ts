import { decodeCursor, encodeCursor, invalidPositionError } from "./cursor.ts";
import type { Run } from "./run.ts";
import type { RunFilter } from "./run-source.ts";
import type { Page, PageRequest } from "./store.ts";
import { checkLimit } from "./store-error.ts";

/** The place of a run in a list that is sorted newest first. */
export interface RunPosition {
  readonly createdAt: number;
  readonly id: string;
}

/** Returns whether a run meets every condition of a filter. */
export function matchesRun(filter: RunFilter, run: Run): boolean {
  const { kind, status, name, tags = {}, since, text, datasetId } = filter;
  if (kind !== undefined && run.kind !== kind) return false;
  if (status !== undefined && run.status !== status) return false;
  if (name !== undefined && run.name !== name) return false;
  if (since !== undefined && run.createdAt < since) return false;
  if (datasetId !== undefined && !run.datasets.some(({ id }) => id === datasetId)) return false;
  if (!Object.entries(tags).every(([key, value]) => run.tags[key] === value)) return false;
  return text === undefined || textOf(run).includes(text.toLowerCase());
}

/** Sorts newest first. */
export function compareRuns(one: RunPosition, other: RunPosition): number {
  if (one.createdAt !== other.createdAt) return other.createdAt - one.createdAt;
  return one.id === other.id ? 0 : one.id < other.id ? 1 : -1;
}

/** Returns a page of runs that are all in memory, newest first. */
export function pageRuns(runs: Iterable<Run>, filter: RunFilter, page: PageRequest<string>): Page<Run, string> {
  checkLimit(page.limit);
  const after = parseRunPosition(page.after);
  const found = [...runs]
    .filter((run) => (after === null || compareRuns(after, run) < 0) && matchesRun(filter, run))
    .sort(compareRuns);
  const entries = found.slice(0, page.limit);
  const last = entries.at(-1);
  return { entries, next: last === undefined || found.length === entries.length ? null : formatRunPosition(last) };
}

export function formatRunPosition({ createdAt, id }: RunPosition): string {
  return encodeCursor([createdAt, id]);
}

/** Returns null for the beginning of the list. Throws `usage_invalid` for a position that is not valid. */
export function parseRunPosition(position: string | null): RunPosition | null {
  if (position === null) return null;
  const [createdAt, id] = decodeCursor(position, 2) ?? [];
  if (typeof createdAt !== "number" || typeof id !== "string") throw invalidPositionError(position);
  return { createdAt, id };
}

function textOf({ id, name, targets, datasets }: Run): string {
  return [id, name, ...targets, ...datasets.map((dataset) => dataset.name)].join("\n").toLowerCase();
}
