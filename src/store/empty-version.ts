import type { DatasetVersion } from "./dataset-store.ts";

/** Version 0, which every dataset begins with. */
export function emptyVersion(createdAt: number): DatasetVersion {
  return { version: 0, createdAt, note: null, itemCount: 0, added: 0, changed: 0, removed: 0 };
}
