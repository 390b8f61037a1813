import { randomUUID } from "node:crypto";
import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Clock, Timer } from "../../base/clock.ts";
import { messageOf, RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import type { IdMap } from "./id-map.ts";
import { startMapped } from "./mapped-process.ts";
import type { TalkMeans } from "./talking-program.ts";

export interface TrashBinOptions extends TalkMeans {
  readonly directory: string;
  readonly idMap: IdMap;
  readonly path: string;
  readonly clock: Clock;
}

// Starting a program costs more than removing the little that most environments leave.
const gatherMs = 250;
const mostGathered = 8;

/** Removes folders of environments in the background, several at a time; a folder is out of sight at once. */
export class TrashBin {
  readonly #options: TrashBinOptions;
  readonly #working = new Set<Promise<void>>();
  #gathered: string[] = [];
  #timer: Timer | null = null;

  constructor(options: TrashBinOptions) {
    this.#options = options;
  }

  /** Takes a folder away and removes it soon; one that is already gone is fine. */
  throwAway(folder: string): void {
    const place = join(this.#options.directory, randomUUID());
    try {
      mkdirSync(this.#options.directory, { recursive: true });
      renameSync(folder, place);
    } catch (error) {
      if (systemCodeOf(error) === "ENOENT") return;
      throw new RolloutError("teardown_failed", `cannot remove ${folder}: ${messageOf(error)}`, { cause: error });
    }
    this.#gathered.push(place);
    if (this.#gathered.length >= mostGathered) this.#flush();
    else this.#timer ??= this.#options.clock.startTimer(gatherMs, () => this.#flush());
  }

  /** Starts to remove what earlier processes took away and did not get to remove. */
  sweep(): void {
    const left = readdirSync(this.#options.directory).map((name) => join(this.#options.directory, name));
    if (left.length > 0) this.#start(left);
  }

  /** Resolves when everything is removed. */
  async empty(): Promise<void> {
    this.#flush();
    while (this.#working.size > 0) await Promise.all(this.#working);
  }

  #flush(): void {
    this.#timer?.clear();
    this.#timer = null;
    if (this.#gathered.length > 0) this.#start(this.#gathered);
    this.#gathered = [];
  }

  #start(places: readonly string[]): void {
    const work = this.#remove(places)
      // Whoever comes next tries again.
      .catch(() => {})
      .finally(() => this.#working.delete(work));
    this.#working.add(work);
  }

  async #remove(places: readonly string[]): Promise<void> {
    const { idMap, path, directory, starter } = this.#options;
    const argv = ["rm", "-rf", "--", ...places];
    if (idMap.kind === "private") {
      const env = { PATH: path };
      const rm = await starter.start({ file: "rm", args: argv.slice(1), env, cwd: "/", descriptors: [] });
      await rm.ended;
      return;
    }
    // Only root of the namespace may remove what its ids own, and directories that nobody may enter.
    const signal = new AbortController().signal;
    const { program } = await startMapped(argv, { ...this.#options, cwd: directory, signal });
    await program.ended;
  }
}
