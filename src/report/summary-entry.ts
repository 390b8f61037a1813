import { fitMiddle, fitWidth, plainText } from "../base/terminal-text.ts";
import { groupDigits } from "./number-text.ts";
import type { Style } from "./style.ts";
import type { Cell } from "./text-table.ts";

/** Something that was counted: how often, what, what else to know, and one unit to look at. */
export interface Entry {
  readonly count: number;
  readonly title: Cell;
  readonly lines: readonly string[];
  readonly example: string | null;
}

export interface EntryRoom {
  /** Of the widest count. */
  readonly width: number;
  readonly columns: number;
  readonly style: Style;
}

/** How many columns an entry leaves for its lines. */
export function entryRoom({ width, columns }: Omit<EntryRoom, "style">): number {
  return columns - width - 4;
}

/** The lines of an entry, indented below its count. */
export function renderEntry({ count, title, lines, example }: Entry, room: EntryRoom): string[] {
  const { width, style } = room;
  const columns = entryRoom(room);
  const indent = " ".repeat(width + 4);
  const fitted = fitWidth(title.text, columns);
  const pointer = example === null ? [] : [style.dim(fitMiddle(`e.g. ${plainText(example)}`, columns))];
  return [
    `  ${style.bold(groupDigits(count).padStart(width))}  ${title.paint ? title.paint(fitted) : fitted}`,
    ...[...lines, ...pointer].map((line) => indent + line),
  ];
}
