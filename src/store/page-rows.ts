import { decodeCursor, encodeCursor, invalidPositionError } from "./cursor.ts";
import { scoreOf, type UnitRow } from "./run.ts";
import type { UnitOrder, UnitQuery } from "./run-source.ts";
import type { Page } from "./store.ts";
import { checkLimit } from "./store-error.ts";
import { matchesUnit } from "./unit-filter.ts";

/** The value a unit is sorted by; null if it has none. */
export type SortValue = string | number | null;

/** The place of a unit in a sorted list. Units with equal values are sorted by index. */
export interface SortPosition {
  readonly index: number;
  readonly value: SortValue;
}

const sortValues: Readonly<Record<UnitOrder, (row: UnitRow, scoreName: string) => SortValue>> = {
  index: ({ index }) => index,
  key: ({ key }) => key,
  status: ({ status }) => status,
  score: (row, scoreName) => mainScoreOf(row, scoreName),
  started: ({ startedAt }) => startedAt,
  duration: ({ durationSec }) => durationSec,
  cost: ({ spendUsd }) => spendUsd,
  failure: ({ failure }) => failure?.type ?? null,
};

/** Returns a page of units that are all in memory, sorted by index. `scoreName` is the score of the run's shape. */
export function pageRows(rows: readonly UnitRow[], query: UnitQuery, scoreName: string): Page<UnitRow, string> {
  const selection = new PageSelection<SortPosition & { readonly row: UnitRow }>(query);
  const valueOf = sortValues[selection.by];
  for (const row of selection.by === "index" ? rowsAfter(rows, selection) : rows) {
    if (query.filter !== undefined && !matchesUnit(query.filter, row)) continue;
    selection.add({ index: row.index, value: valueOf(row, scoreName), row });
    if (selection.by === "index" && selection.isFull) break;
  }
  const { entries, next } = selection.page();
  return { entries: entries.map(({ row }) => row), next };
}

/** Yields rows that are sorted by index from a position on, so that reading all pages reads each row once. */
function* rowsAfter(
  rows: readonly UnitRow[],
  { after, isDescending }: Pick<PageSelection<SortPosition>, "after" | "isDescending">,
): Generator<UnitRow> {
  const start = after === null ? (isDescending ? rows.length : 0) : findIndex(rows, after.index);
  const step = isDescending ? -1 : 1;
  // The selection drops the row at the position itself.
  for (let at = Math.min(start, rows.length - 1); at >= 0 && at < rows.length; at += step) yield rows[at] as UnitRow;
}

/** Returns the place of the first row with at least this index. */
function findIndex(rows: readonly UnitRow[], index: number): number {
  let [low, high] = [0, rows.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rows[middle]?.index ?? 0) < index) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the score a run is about, or the first score if the run does not name one. */
export function mainScoreOf(row: Pick<UnitRow, "scores">, scoreName: string): number | null {
  return scoreName === "" ? (row.scores[0]?.value ?? null) : scoreOf(row, scoreName);
}

/** Picks one page out of positions that arrive in any order, without keeping all of them. */
export class PageSelection<Entry extends SortPosition> {
  readonly by: UnitOrder;
  readonly isDescending: boolean;
  /** The page starts after this position; null: at the beginning. */
  readonly after: SortPosition | null;
  readonly #limit: number;
  #entries: Entry[] = [];

  constructor({ sort, page }: Pick<UnitQuery, "sort" | "page">) {
    checkLimit(page.limit);
    this.by = sort?.by ?? "index";
    this.isDescending = sort?.isDescending ?? false;
    this.after = page.after === null ? null : this.#parse(page.after);
    this.#limit = page.limit;
  }

  add(entry: Entry): void {
    if (this.after !== null && this.#compare(this.after, entry) >= 0) return;
    this.#entries.push(entry);
    if (this.#entries.length >= 2 * this.#limit + 1_000) this.#drop();
  }

  /** True if there are enough entries for a page and for saying that another one follows. */
  get isFull(): boolean {
    return this.#entries.length > this.#limit;
  }

  page(): Page<Entry, string> {
    this.#drop();
    const entries = this.#entries.slice(0, this.#limit);
    const last = entries.at(-1);
    return { entries, next: last === undefined || entries.length === this.#entries.length ? null : this.format(last) };
  }

  /** Returns the position as an opaque string. */
  format({ value, index }: SortPosition): string {
    return encodeCursor([this.by, this.isDescending ? "desc" : "asc", value, index]);
  }

  // Keeps one entry more than fits on the page, to know whether another page follows.
  #drop(): void {
    this.#entries = this.#entries.sort((one, other) => this.#compare(one, other)).slice(0, this.#limit + 1);
  }

  #parse(position: string): SortPosition {
    const [by, direction, value = null, index] = decodeCursor(position, 4) ?? [];
    const isOurs = by === this.by && direction === (this.isDescending ? "desc" : "asc");
    if (!isOurs || typeof index !== "number") throw invalidPositionError(position);
    return { value, index };
  }

  #compare(one: SortPosition, other: SortPosition): number {
    if (one.value === other.value) return one.index - other.index;
    if (one.value === null) return 1;
    if (other.value === null) return -1;
    return one.value < other.value === this.isDescending ? 1 : -1;
  }
}
