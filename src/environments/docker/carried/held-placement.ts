import { checkTarget } from "../../archive/plan-placements.ts";
import { placementEntries } from "../../archive/placement-entries.ts";
import type { TreeEntry } from "../../archive/tree-entry.ts";
import type { Placement } from "../../environment.ts";

// An engine takes a command of some 100 KiB as one word, quotes and all.
const mostHeldBytes = 32 * 1024;
const mostHeldEntries = 100;
// What a shell hands on as it is: no NUL, nothing that it uses as a mark of its own, and what JSON can carry.
const plainText = /^[\t\n\r\u0020-\u007e\u0080-\uffff]*$/;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A small tree that has been read, so that its source is not needed any more. */
export interface HeldTree {
  readonly kind: "held";
  readonly target: string;
  readonly entries: readonly TreeEntry[];
}

/** A placement that can wait until somebody looks. */
export type HeldPlacement = HeldTree | (Placement & { readonly kind: "remove" });

/** Reads placements that a shell can make by itself; null when they are too much for that, or not plain text. */
export async function holdPlacements(
  items: readonly Placement[],
  signal: AbortSignal,
): Promise<readonly HeldPlacement[] | null> {
  const held: HeldPlacement[] = [];
  const room = { bytes: mostHeldBytes, entries: mostHeldEntries };
  for (const item of items) {
    const target = checkTarget(item.target);
    if (item.kind === "remove") held.push({ ...item, target });
    else {
      const entries = await holdEntries(placementEntries([{ ...item, target }], signal), room);
      if (entries === null) return null;
      held.push({ kind: "held", target, entries });
    }
  }
  return held;
}

async function holdEntries(
  entries: AsyncIterable<TreeEntry>,
  room: { bytes: number; entries: number },
): Promise<readonly TreeEntry[] | null> {
  const held: TreeEntry[] = [];
  for await (const entry of entries) {
    room.bytes -= entry.type === "file" ? entry.size : 0;
    room.entries--;
    if (room.bytes < 0 || room.entries < 0 || entry.type === "other" || entry.type === "hardlink") return null;
    const words = [entry.path, entry.type === "symlink" ? entry.linkTarget : ""];
    if (entry.type === "file") {
      const chunks: Uint8Array[] = [];
      for await (const chunk of entry.body) chunks.push(Buffer.from(chunk));
      const text = decode(Buffer.concat(chunks));
      if (text === null) return null;
      words.push(text);
      held.push({ ...entry, body: [Buffer.from(text)] });
    } else held.push(entry);
    if (!words.every((word) => plainText.test(word))) return null;
  }
  return held;
}

function decode(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}
