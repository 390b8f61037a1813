import { displayWidth, fitMiddle, fitWidth, padEnd } from "../base/terminal-text.ts";

/** A cell: plain text that is measured and cut, and the emphasis that is put on what is left of it. */
export interface Cell {
  readonly text: string;
  readonly paint?: ((text: string) => string) | undefined;
}

export interface Column {
  readonly title: string;
  readonly align: "left" | "right";
  readonly cells: readonly Cell[];
  /** The columns with the highest number go first, together, when the table is too wide; one without it stays. */
  readonly drop?: number | undefined;
  /** It is worth more than whole names: they are cut to half of `cutTo` before it goes. */
  readonly isFirm?: boolean | undefined;
  /** For names, which are cut in their middle: down to this width before any column goes. */
  readonly cutTo?: number | undefined;
  /** May be cut down to this width when nothing is left to drop. */
  readonly shrinkTo?: number | undefined;
}

const gap = 2;

/** The lines of a table that is never wider than `columns`: it cuts long names, drops columns, then cuts what may be cut. */
export function renderTable(
  table: readonly Column[],
  columns: number,
  paintTitle: (text: string) => string = (text) => text,
): string[] {
  const { kept, widths } = fitTable(table, columns);
  const rows = Math.max(0, ...kept.map((column) => column.cells.length));
  const renderRow = (pick: (column: Column) => Cell): string => {
    const parts = kept.map((column, index) => renderCell(pick(column), column, widths[index] ?? 0));
    return parts.join(" ".repeat(gap)).trimEnd();
  };
  const lines = Array.from({ length: rows }, (_, row) => renderRow((column) => column.cells[row] ?? { text: "" }));
  const titled = kept.some((column) => column.title !== "");
  return titled ? [renderRow((column) => ({ text: column.title, paint: paintTitle })), ...lines] : lines;
}

function renderCell(cell: Cell, column: Column, width: number): string {
  const text = column.cutTo === undefined ? fitWidth(cell.text, width) : fitMiddle(cell.text, width);
  const space = padEnd("", width - displayWidth(text));
  const painted = cell.paint ? cell.paint(text) : text;
  return column.align === "right" ? space + painted : painted + space;
}

function fitTable(table: readonly Column[], columns: number): { kept: readonly Column[]; widths: number[] } {
  let kept = table;
  for (;;) {
    const worst = Math.max(0, ...kept.map(({ drop }) => drop ?? 0));
    const share = kept.some(({ drop, isFirm }) => drop === worst && isFirm) ? 0.5 : 1;
    const widths = kept.map(widthOf);
    shrinkWidest(widths, columns, (index) => scaled(kept[index]?.cutTo, share));
    if (worst === 0) shrinkWidest(widths, columns, (index) => kept[index]?.shrinkTo);
    if (worst === 0 || totalOf(widths) <= columns) return { kept, widths };
    kept = kept.filter(({ drop }) => drop !== worst);
  }
}

function scaled(width: number | undefined, share: number): number | undefined {
  return width === undefined ? undefined : Math.floor(width * share);
}

function shrinkWidest(widths: number[], columns: number, limitOf: (index: number) => number | undefined): void {
  for (let excess = totalOf(widths) - columns; excess > 0; excess--) {
    let widest = -1;
    widths.forEach((width, index) => {
      const limit = limitOf(index);
      if (limit !== undefined && width > limit && width > (widths[widest] ?? 0)) widest = index;
    });
    if (widest < 0) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

function widthOf(column: Column): number {
  return Math.max(displayWidth(column.title), ...column.cells.map((cell) => displayWidth(cell.text)));
}

function totalOf(widths: readonly number[]): number {
  return widths.reduce((total, width) => total + width, 0) + gap * Math.max(0, widths.length - 1);
}

/** Parts joined in lines of at most `columns`, broken only between parts; a part that is wider is cut. */
export function joinParts(parts: readonly Cell[], separator: string, columns: number): string[] {
  const lines: string[] = [];
  let width = 0;
  for (const { text, paint } of parts) {
    const fitted = fitWidth(text, columns);
    const painted = paint ? paint(fitted) : fitted;
    const longer = width + displayWidth(separator) + displayWidth(fitted);
    const last = lines.at(-1);
    if (last === undefined || longer > columns) {
      lines.push(painted);
      width = displayWidth(fitted);
    } else {
      lines[lines.length - 1] = last + separator + painted;
      width = longer;
    }
  }
  return lines;
}

/** A text that is broken between words into lines of at most `columns`, and inside a word that is longer. */
export function wrapText(text: string, columns: number, mostLines: number): string[] {
  const words = text.split(" ").flatMap((word) => breakWord(word, columns));
  return wrapWords(words, columns, mostLines);
}

// Names of images and paths are read to be typed again; a piece of one is of no use.
function breakWord(word: string, columns: number): string[] {
  if (displayWidth(word) <= columns || columns < 2) return [word];
  const pieces: string[] = [];
  let piece = "";
  for (const character of word) {
    if (displayWidth(piece + character) > columns) {
      pieces.push(piece);
      piece = "";
    }
    piece += character;
  }
  return [...pieces, piece];
}

/** The same for words that may have spaces in them; a longer word is cut. */
export function wrapWords(words: readonly string[], columns: number, mostLines: number): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of words.filter((part) => part !== "")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (displayWidth(longer) <= columns || line === "") line = longer;
    else {
      lines.push(line);
      line = word;
    }
  }
  if (line !== "") lines.push(line);
  if (lines.length > mostLines) {
    // What was left out must be seen to be missing.
    const last = lines[mostLines - 1] ?? "";
    lines.splice(mostLines - 1, lines.length, `${fitWidth(last, columns - 2)} …`);
  }
  return lines.map((each) => fitWidth(each, columns));
}
