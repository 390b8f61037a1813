import { setImmediate } from "node:timers/promises";
import { RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import type { CopyReport } from "../environment.ts";
import type { TreeEntry, TreeStream } from "./tree-entry.ts";
import { checkLinkTarget, checkTreePath } from "./tree-path.ts";
import { TreeTarget } from "./tree-target.ts";

const entriesPerTurn = 128;
// A hostile stream could otherwise fill our memory with what we refuse.
const mostRefusals = 1000;
// What the host's file system says about a name or target it will never take.
const refusalCodes: ReadonlySet<string> = new Set(["ENAMETOOLONG", "EILSEQ", "EINVAL", "ELOOP"]);

/** How much of a tree is taken; what is absent is not limited. */
export interface TreeLimits {
  readonly entries?: number | undefined;
  readonly bytes?: number | undefined;
}

/** How a tree is written. */
export interface WriteTreeOptions {
  readonly signal: AbortSignal;
  /** What goes beyond is refused like anything else that is not safe. */
  readonly limits?: TreeLimits | undefined;
  /** `any` keeps links whatever they point to, for a directory that is another machine's root; default `inside`. */
  readonly links?: "inside" | "any" | undefined;
  /** Paths of the tree that are written under another name. */
  readonly renames?: Readonly<Record<string, string>> | undefined;
}

/**
 * Writes a tree to a host directory, merging into what it holds, and never touches anything outside of it.
 * What is not safe is refused and reported while the rest is written; links are never written through. Rejects with
 * `copy_failed` when the host cannot take a file that is safe.
 */
export async function writeTree(entries: TreeStream, hostDir: string, options: WriteTreeOptions): Promise<CopyReport> {
  const target = new TreeTarget(hostDir, options.limits?.bytes ?? Number.POSITIVE_INFINITY, options.signal);
  const mostEntries = options.limits?.entries ?? Number.POSITIVE_INFINITY;
  const refused: { path: string; reason: string }[] = [];
  let unnamed = 0;
  let count = 0;
  for await (const entry of entries) {
    options.signal.throwIfAborted();
    count++;
    const reason = count > mostEntries ? `there are more than ${mostEntries} entries` : await write(entry);
    if (reason !== null) {
      if (refused.length < mostRefusals) refused.push({ path: entry.path, reason });
      else unnamed++;
    }
    if (count % entriesPerTurn === 0) await setImmediate();
  }
  if (unnamed > 0) refused.push({ path: "", reason: `${unnamed} more were refused` });
  return { files: target.files, bytes: target.bytes, refused };

  async function write(entry: TreeEntry): Promise<string | null> {
    try {
      return await place(target, entry, options);
    } catch (error) {
      const code = systemCodeOf(error);
      if (error instanceof RolloutError || code === undefined) throw error;
      if (refusalCodes.has(code)) return `the host does not take it (${code})`;
      throw new RolloutError("copy_failed", `cannot write ${entry.path || "the copy"} to ${hostDir}: ${code}`, {
        cause: error,
      });
    }
  }
}

async function place(target: TreeTarget, entry: TreeEntry, options: WriteTreeOptions): Promise<string | null> {
  if (entry.type === "other") return entry.reason;
  const { parts: given, refusal } = checkTreePath(entry.path);
  if (refusal !== undefined) return refusal;
  const renamed = options.renames?.[given.join("/")];
  const parts = renamed === undefined ? given : renamed.split("/");
  if (entry.type === "directory") return target.directory(parts, entry.mode);
  if (entry.type === "file") return target.file(parts, entry);
  if (entry.type === "symlink") {
    const reason = options.links === "any" ? null : checkLinkTarget(entry.linkTarget, parts.length - 1);
    return reason ?? target.symlink(parts, entry.linkTarget);
  }
  const other = checkTreePath(entry.linkTarget);
  return other.refusal === undefined ? target.hardlink(parts, other.parts) : "it links out of the tree";
}
