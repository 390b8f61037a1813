import { setImmediate } from "node:timers/promises";
import { RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import type { CopyLimits, CopyReport } from "../environment.ts";
import type { TreeEntry, TreeStream } from "./tree-entry.ts";
import { checkLinkTarget, checkTreePath } from "./tree-path.ts";
import { TreeTarget } from "./tree-target.ts";

const entriesPerTurn = 128;
// A hostile stream could otherwise fill our memory with what we refuse.
const mostRefusals = 1000;
// What the host's file system says about a name or target it will never take.
const refusalCodes: ReadonlySet<string> = new Set(["ENAMETOOLONG", "EILSEQ", "EINVAL", "ELOOP"]);

/** What may be read of an archive for nothing before it is given up: a sparse file of a terabyte would take an hour. */
export const mostWastedBytes = 4 * 2 ** 30;

/** How a tree is written. */
export interface WriteTreeOptions {
  readonly signal: AbortSignal;
  /** What goes beyond is refused like anything else that is not safe. */
  readonly limits?: CopyLimits | undefined;
  /** The bytes of refused files that may be read for nothing, for a stream that cannot pass them over; no bound when absent. */
  readonly mostWastedBytes?: number | undefined;
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
  const mostWasted = options.mostWastedBytes ?? Number.POSITIVE_INFINITY;
  const refused: { path: string; reason: string }[] = [];
  let unnamed = 0;
  let count = 0;
  let wasted = 0;
  let isCut = false;
  for await (const entry of entries) {
    options.signal.throwIfAborted();
    count++;
    const end = whyEnd(entry);
    if (end !== null) {
      isCut = true;
      refused.push({ path: entry.path, reason: `${end}; nor was anything after it` });
      break;
    }
    const reason = await write(entry);
    if (reason !== null) {
      if (refused.length < mostRefusals) refused.push({ path: entry.path, reason });
      else unnamed++;
    }
    if (count % entriesPerTurn === 0) await setImmediate();
  }
  if (unnamed > 0) refused.splice(mostRefusals, 0, { path: "", reason: `${unnamed} more were refused` });
  return { files: target.files, bytes: target.bytes, refused, ...(isCut ? { isCut } : {}) };

  function whyEnd(entry: TreeEntry): string | null {
    if (count > mostEntries) return `there are more than ${mostEntries} entries`;
    if (entry.type !== "file" || target.hasRoomFor(entry.size)) return null;
    wasted += entry.size;
    return wasted > mostWasted ? `it has ${entry.size} bytes, too many even to pass over` : null;
  }

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
