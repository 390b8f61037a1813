import { checkTarget } from "../archive/plan-placements.ts";
import type { CopyFromRequest, CopyReport, Placement } from "../environment.ts";
import type { PodShell } from "./commands/pod-shell.ts";
import { copyIn } from "./copy-in.ts";
import { copyOut } from "./copy-out.ts";

export interface PodFilesOptions {
  readonly shell: PodShell;
  /** Paths where something is mounted; it can be emptied, and not removed. */
  readonly mounted: readonly string[];
  /** What has to be in place before anybody looks; it travels with the first things that do. */
  readonly pending: readonly Placement[];
}

/** Puts files into a Pod and takes them out, in as few commands as that takes: each costs the node a process and a connection. */
export class PodFiles {
  readonly #options: PodFilesOptions;
  #pending: readonly Placement[];
  #placing: Promise<void> = Promise.resolve();

  constructor(options: PodFilesOptions) {
    this.#options = options;
    this.#pending = options.pending;
  }

  /** Puts everything in place, what was left for later first. */
  async place(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    // Nobody looks before the next command or copy.
    if (items.length > 0 && items.every(({ kind }) => kind === "remove")) {
      for (const { target } of items) checkTarget(target);
      this.#pending = [...this.#pending, ...items];
      return;
    }
    // One after the other: a copy may take away what stands where another puts its own.
    const placing = this.#placing.then(() => this.#placeNext(items, signal));
    this.#placing = placing.catch(() => {});
    await placing;
  }

  /** Puts in place what was left for later; to be called before anybody looks. */
  async placePending(signal: AbortSignal): Promise<void> {
    await this.#placing;
    if (this.#pending.length > 0) await this.place([], signal);
  }

  /** Copies something out; rejects with `not_found` when there is nothing. */
  async copyOut(request: CopyFromRequest): Promise<CopyReport> {
    await this.placePending(request.signal);
    return copyOut(this.#options.shell, request);
  }

  async #placeNext(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { shell, mounted } = this.#options;
    const pending = this.#pending;
    this.#pending = [];
    try {
      await copyIn([...pending, ...items], { shell, mounted, signal });
    } catch (error) {
      this.#pending = [...pending, ...this.#pending];
      throw error;
    }
  }
}
