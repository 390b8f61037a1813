import { RolloutError } from "../../base/rollout-error.ts";
import { checkTarget, overlap, planPlacements } from "../archive/plan-placements.ts";
import { requireSource } from "../archive/require-source.ts";
import type { CopyFromRequest, CopyReport, Placement } from "../environment.ts";
import type { ToolMarks } from "../integrity/tool-marks.ts";
import { hasStatus } from "./connection/engine-error.ts";
import type { Engine } from "./connection/open-engine.ts";
import type { ContainerCommands } from "./container-commands.ts";
import type { ContainerLife } from "./container-life.ts";
import type { ContainerRoot } from "./container-root.ts";
import type { ContainerStillness } from "./container-stillness.ts";
import { holdPlacements, type HeldPlacement } from "./carried/held-placement.ts";
import { planPlacingScript } from "./carried/placing-script.ts";
import { copyIn } from "./copy-in.ts";
import { copyOut } from "./copy-out.ts";
import { logsPath, type LogVolume } from "./log-volume.ts";

/** Where the files of a container can be reached. */
export interface FileWays {
  /** Its logs on this machine, when it has them there. */
  readonly logs: LogVolume | null;
  /** Its files as this machine sees them, when it does. */
  readonly root: ContainerRoot | null;
  /** What has to be in place before anybody looks; it travels with the first things that do. */
  readonly pending: readonly (HeldPlacement | Placement)[];
  /** Paths where the image or the job mounts something; it can be emptied, and not removed. */
  readonly mountPoints: readonly string[];
  /** Where something stands in a container of that image before the first command. */
  readonly standing: Map<string, boolean>;
}

export interface ContainerFilesOptions extends FileWays {
  readonly engine: Engine;
  readonly id: string;
  readonly commands: ContainerCommands;
  readonly life: ContainerLife;
  readonly stillness: ContainerStillness;
  readonly isRunning: () => boolean;
}

type Pending = HeldPlacement | Placement;

/** Puts files into a container and takes them out, each by the cheapest way that is safe: the mounted logs, its root as this machine sees it, or the engine. */
export class ContainerFiles {
  readonly #options: ContainerFilesOptions;
  #pending: readonly Pending[];
  #placing: Promise<void> = Promise.resolve();
  /** Everything is as the image has it. */
  #isFresh = true;

  constructor(options: ContainerFilesOptions) {
    this.#options = options;
    this.#pending = options.pending;
  }

  /** To be called before a command: from then on the image does not tell any more what stands where. */
  noteCommand(): void {
    this.#isFresh = false;
  }

  /** Puts everything in place, what was left for later first. */
  async place(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    // One after the other: what was left for later may take away what stands where others put theirs.
    const placing = this.#placing.then(() => this.#placeOrHold(items, signal));
    this.#placing = placing.catch(() => {});
    await placing;
  }

  /** Something was left for later. */
  get hasPending(): boolean {
    return this.#pending.length > 0;
  }

  /** Puts in place what was left for later; to be called before anybody looks. */
  async placePending(signal: AbortSignal): Promise<void> {
    await this.#placing;
    if (this.#pending.length > 0) await this.place([], signal);
  }

  /** What was left for later as a script for the command that is about to start; null when there is nothing, or it takes the engine. */
  async takePending(tools: ToolMarks): Promise<string | null> {
    await this.#placing;
    if (this.#pending.length === 0 || !this.#pending.every(isHeld)) return null;
    const script = planPlacingScript(planPlacements(this.#pending, new Set(this.#mounted)), tools);
    if (script !== null) this.#pending = [];
    return script;
  }

  /** Copies something out; rejects with `not_found` when there is nothing. */
  async copyOut(request: CopyFromRequest): Promise<CopyReport> {
    const { engine, id, logs, life, stillness } = this.#options;
    const { source, signal } = request;
    const report = logs?.holds(source) ? await stillness.whileStill(() => logs.copyOut(request), signal) : null;
    if (report !== null) return report;
    try {
      return await copyOut(engine, id, request);
    } catch (error) {
      if (!hasStatus(error, 404)) throw error;
      await life.assertAlive();
      throw new RolloutError("not_found", `there is nothing at ${source} in the environment`, { cause: error });
    }
  }

  // Nobody looks before the next command, which can put small things in place at next to no cost.
  async #placeOrHold(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    for (const item of items) if (item.kind === "tree") await requireSource(item.source);
    const { root, stillness } = this.#options;
    const isRemoval = items.length > 0 && items.every(({ kind }) => kind === "remove");
    // Somebody who runs may be waiting for it.
    const mayWait = root === null && items.length > 0 && (isRemoval || stillness.isIdle);
    const held = mayWait ? await holdPlacements(items, signal) : null;
    if (held === null) return this.#placeNext(items, signal);
    this.#pending = [...this.#pending, ...held];
  }

  async #placeNext(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const pending = this.#pending;
    const later = items.length === 0 ? [] : this.#planLater([...pending, ...items]);
    this.#pending = later;
    try {
      await this.#placeAll(
        [...pending, ...items].filter((item) => !later.includes(item)),
        signal,
      );
    } catch (error) {
      this.#pending = [...pending, ...this.#pending];
      throw error;
    }
  }

  // Removals that have nothing to do with what is placed can go on waiting for the next command.
  #planLater(items: readonly Pending[]): readonly Pending[] {
    if (this.#options.root !== null) return [];
    const isApart = (item: Pending): boolean =>
      items.every((other) => other === item || !overlap(checkTarget(other.target), checkTarget(item.target)));
    return items.filter((item) => item.kind === "remove" && !this.#isMounted(item.target) && isApart(item));
  }

  #isMounted(target: string): boolean {
    return this.#mounted.includes(checkTarget(target));
  }

  get #mounted(): readonly string[] {
    const { logs, mountPoints } = this.#options;
    return logs === null ? mountPoints : [...mountPoints, logsPath];
  }

  async #placeAll(items: readonly Pending[], signal: AbortSignal): Promise<void> {
    const { engine, id, commands, standing, stillness } = this.#options;
    const rest = areUnread(items) ? await this.#placeFromOutside(items, signal) : items;
    if (rest.length === 0) return;
    const known = this.#isFresh ? standing : null;
    this.#isFresh = false;
    await stillness.disturb(() => copyIn(rest, { engine, id, commands, mounted: this.#mounted, known, signal }));
  }

  // What this machine can reach itself; gives back the rest.
  async #placeFromOutside(items: readonly Placement[], signal: AbortSignal): Promise<readonly Placement[]> {
    const { logs, root, stillness, isRunning } = this.#options;
    if (root !== null && isRunning() && (await root.tryUnlink(items))) return [];
    if (logs === null || planPlacements(items, new Set()).length !== 1) return items;
    const goesToLogs = items.some(({ target }) => logs.holds(target));
    if (!goesToLogs && root === null) return items;
    return stillness.whileStill(async () => {
      const rest = goesToLogs ? await logs.place(items) : items;
      const isReached = isRunning() && root !== null && (await root.tryPlace(rest, signal));
      return isReached ? [] : rest;
    }, signal);
  }
}

function isHeld(item: Pending): item is HeldPlacement {
  return item.kind === "held" || item.kind === "remove";
}

function areUnread(items: readonly Pending[]): items is readonly Placement[] {
  return items.every(({ kind }) => kind !== "held");
}
