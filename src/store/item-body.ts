import type { DatasetItem, NewItem } from "./dataset-store.ts";

/** What a store keeps of an item beside its id, as JSON; two items are the same when this is. */
export function encodeItem({ input, expectedOutput, metadata, scorerIds }: NewItem): string {
  return JSON.stringify({ input, expectedOutput, metadata, scorerIds });
}

/** The item that a store kept. */
export function decodeItem(id: string, version: number, body: string): DatasetItem {
  return { id, ...(JSON.parse(body) as Omit<DatasetItem, "id" | "version">), version };
}
