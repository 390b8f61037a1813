import { RolloutError } from "../../base/rollout-error.ts";
import type { SnapshotFile } from "../environment.ts";
import type { TreeEntry } from "./tree-entry.ts";

/** Rejects with `unsupported` for a name that nobody could look at as it is. */
export function assertReadableName(path: string): void {
  if (!path.includes("\uFFFD")) return;
  throw new RolloutError("unsupported", `the name of ${JSON.stringify(path)} is not UTF-8, so it cannot be looked at`);
}

/** What is to be looked at in an entry: the bytes of a file, or where a link leads. */
export function bodyOf(entry: TreeEntry): SnapshotFile["body"] {
  if (entry.type === "file") return entry.body;
  return entry.type === "symlink" ? [Buffer.from(entry.linkTarget)] : [];
}
