import { RolloutError } from "../../base/rollout-error.ts";
import { requireSource } from "../archive/require-source.ts";
import type { CopyFromRequest, CopyReport, Placement } from "../environment.ts";
import { encodeGroups, joinGroups, readGroups, type ReadGroup } from "./carried-files.ts";
import type { PodShell } from "./commands/pod-shell.ts";
import { copyIn, copyInGroups } from "./copy-in.ts";
import { copyOut } from "./copy-out.ts";

const mostPendingBytes = 512 * 1024;

export interface PodFilesOptions {
  readonly shell: PodShell;
  /** Paths where something is mounted; it can be emptied, and not removed. */
  readonly mounted: readonly string[];
  /** What has to be in place before anybody looks; it travels with the first things that do. */
  readonly pending: readonly ReadGroup[];
}

/** Files on their way with a command. */
export interface CarriedFiles {
  /** As the command's supervisor reads them. */
  readonly bytes: Buffer;
  /** To be told when they are in place, or when nobody knows; whoever waits goes on then. */
  settle(): void;
  /** Instead, when the Pod has refused them: they are placed by their own tool, which says what is wrong. */
  placeOtherwise(signal: AbortSignal): Promise<void>;
}

/** Puts files into a Pod and takes them out, in as few commands as that takes: each costs the node a process and a connection. */
export class PodFiles {
  readonly #options: PodFilesOptions;
  #pending: readonly ReadGroup[];
  #placing: Promise<void> = Promise.resolve();

  constructor(options: PodFilesOptions) {
    this.#options = options;
    this.#pending = options.pending;
  }

  /** Puts everything in place, what was left for later first; what is small may wait for the next command or copy. */
  async place(items: readonly Placement[], mayWait: boolean, signal: AbortSignal): Promise<void> {
    for (const item of items) if (item.kind === "tree") await requireSource(item.source);
    await this.#next(async () => {
      const groups = mayWait ? await readGroups(items, this.#options.mounted, signal) : null;
      if (groups === null || sizeOf([...this.#pending, ...groups]) > mostPendingBytes) {
        await this.#placeAll(signal);
        await copyIn(items, { ...this.#options, signal });
      } else this.#pending = joinGroups([...this.#pending, ...groups]);
    });
  }

  /** Puts in place what was left for later; to be called before anybody looks. */
  async placePending(signal: AbortSignal): Promise<void> {
    await this.#next(() => this.#placeAll(signal));
  }

  /** What was left for later, to be placed by the command that is about to start; null when there is nothing. */
  async carryPending(): Promise<CarriedFiles | null> {
    // Others waited too, and may have begun to place something.
    for (let placing; placing !== this.#placing; await placing) placing = this.#placing;
    const groups = this.#pending;
    if (groups.length === 0) return null;
    this.#pending = [];
    const settled = Promise.withResolvers<void>();
    this.#placing = settled.promise;
    return {
      bytes: encodeGroups(groups),
      // Whoever does not know must not do it again: it would take away what a command has written since.
      settle: () => settled.resolve(),
      placeOtherwise: async (signal) => {
        this.#pending = [...groups, ...this.#pending];
        await this.#placeAll(signal).finally(() => settled.resolve());
      },
    };
  }

  /** Copies something out; rejects with `not_found` when there is nothing. */
  async copyOut(request: CopyFromRequest): Promise<CopyReport> {
    await this.placePending(request.signal);
    return copyOut(this.#options.shell, request);
  }

  // One after the other: a copy may take away what stands where another puts its own.
  async #next(work: () => Promise<void>): Promise<void> {
    const placing = this.#placing.then(work);
    this.#placing = placing.catch(() => {});
    await placing;
  }

  async #placeAll(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const groups = this.#pending;
    this.#pending = [];
    try {
      await copyInGroups(groups, { ...this.#options, signal });
    } catch (error) {
      // What the Pod refuses is told once, and does not stand in the way of what comes next.
      const isRefused = error instanceof RolloutError && error.code === "copy_failed";
      if (!isRefused) this.#pending = [...groups, ...this.#pending];
      throw error;
    }
  }
}

function sizeOf(groups: readonly ReadGroup[]): number {
  return groups.reduce((size, { archive }) => size + (archive?.length ?? 0), 0);
}
