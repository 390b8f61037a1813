import { RolloutError } from "../../base/rollout-error.ts";
import type { SnapshotStore } from "../environment.ts";
import type { MemoryFileSystem } from "./memory-file-system.ts";

/** What an environment left, for others to start from. */
export interface MemorySnapshot {
  readonly files: MemoryFileSystem;
  readonly workdir: string;
}

/** The snapshots of a provider, which end with it. */
export class MemorySnapshots {
  readonly #snapshots = new Map<string, MemorySnapshot>();

  /** Keeps one, unless there is one of that key already, and gives its reference. */
  keep(key: string, snapshot: MemorySnapshot): string {
    const ref = referenceOf(key);
    if (!this.#snapshots.has(ref)) this.#snapshots.set(ref, snapshot);
    return ref;
  }

  get(reference: string): MemorySnapshot | undefined {
    return this.#snapshots.get(reference);
  }

  /** The same by the contract's words; `used` gives the references that environments were started from. */
  store(used: () => ReadonlySet<string>): SnapshotStore {
    return {
      identify: async (image) => image,
      find: async (key) => (this.#snapshots.has(referenceOf(key)) ? referenceOf(key) : null),
      list: async () =>
        [...this.#snapshots.keys()].map((ref) => ({ key: ref.slice(prefix.length), isUsed: used().has(ref) })),
      remove: async (key) => {
        if (used().has(referenceOf(key))) throw new RolloutError("in_use", `an environment uses the snapshot ${key}`);
        this.#snapshots.delete(referenceOf(key));
      },
    };
  }
}

const prefix = "memory-snapshot:";

function referenceOf(key: string): string {
  return prefix + key;
}
