import type { Page } from "./store.ts";

/** Reads every page of a list. */
export async function readAll<Entry, Cursor>(
  read: (after: Cursor | null) => Promise<Page<Entry, Cursor>>,
): Promise<Entry[]> {
  const all: Entry[] = [];
  for (let after: Cursor | null = null; ;) {
    const page = await read(after);
    all.push(...page.entries);
    if (page.next === null) return all;
    after = page.next;
  }
}
