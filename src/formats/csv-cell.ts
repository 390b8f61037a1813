/** How cells are read: `text` takes objects, lists and quoted strings for JSON and all else for text; `json` takes all that is JSON for it. */
export type CellReading = "text" | "json";

/** True for a cell that is JSON, and not the text that it looks like. */
export function isJsonCell(cell: string, reading: CellReading): boolean {
  return readCell(cell, reading) !== cell;
}

/** The value in a cell. */
export function readCell(cell: string, reading: CellReading): unknown {
  if (reading === "text" && !/^\s*[[{"]/.test(cell)) return cell;
  try {
    return JSON.parse(cell) as unknown;
  } catch {
    return cell;
  }
}

/** A cell from which `readCell` gets the value back, whole with `json`, and but for numbers, true, false and null with `text`. */
export function writeCell(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return value === "" || readCell(value, "json") !== value ? JSON.stringify(value) : value;
}

/** A cell as it stands in a file. */
export function quoteCell(cell: string): string {
  return /[",\r\n]|^\s|\s$/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
