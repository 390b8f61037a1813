/** One value of a file, or what is wrong there; lines and columns count from 1. */
export type SourceEntry =
  | { readonly line: number; readonly column: number; readonly value: unknown }
  | { readonly line: number; readonly column: number; readonly problem: string };

/** The text of one value of a file, not yet looked at, or what is wrong there. */
export type SourceText =
  | { readonly line: number; readonly column: number; readonly text: string }
  | { readonly line: number; readonly column: number; readonly problem: string };

/** What files of items can be. */
export const itemFormats = ["jsonl", "json", "csv"] as const;

export type ItemFormat = (typeof itemFormats)[number];

const extensions: Readonly<Record<string, ItemFormat>> = {
  jsonl: "jsonl",
  ndjson: "jsonl",
  json: "json",
  csv: "csv",
};

/** The format that a file's name tells; null when it tells none. */
export function formatOf(file: string): ItemFormat | null {
  return extensions[/\.([^.]+)$/.exec(file.toLowerCase())?.[1] ?? ""] ?? null;
}
