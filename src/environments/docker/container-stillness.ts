import type { ProcessInfo } from "../environment.ts";

export interface ContainerStillnessOptions {
  /** Neither frozen nor ended. */
  readonly isRunning: () => boolean;
  readonly pause: (signal: AbortSignal) => Promise<void>;
  readonly unpause: (signal: AbortSignal) => Promise<void>;
}

/** Knows when nothing runs in a container beside its main process, and holds everything else still when something may. */
export class ContainerStillness {
  readonly #options: ContainerStillnessOptions;
  /** How much was begun that may leave processes, how much of it runs, and how much had been begun when nothing was found to run. */
  #begun = 0;
  #running = 0;
  #begunAtQuiet = 0;
  #holding: Promise<unknown> = Promise.resolve();

  constructor(options: ContainerStillnessOptions) {
    this.#options = options;
  }

  /** Does what may start processes in the container, once nothing has to be still any more. */
  async disturb<T>(work: () => Promise<T>): Promise<T> {
    this.#begun++;
    await this.#holding;
    this.#running++;
    try {
      return await work();
    } finally {
      this.#running--;
    }
  }

  /** Lists processes and remembers when there were none. */
  async look(list: () => Promise<readonly ProcessInfo[]>): Promise<readonly ProcessInfo[]> {
    const begun = this.#begun;
    const found = await list();
    if (found.length === 0) this.#begunAtQuiet = begun;
    return found;
  }

  /** Does what nothing inside may disturb. */
  whileStill<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const { isRunning, pause, unpause } = this.#options;
    const held = this.#holding.then(async () => {
      if (!isRunning() || this.isIdle) return work();
      await pause(signal);
      try {
        return await work();
      } finally {
        await unpause(new AbortController().signal);
      }
    });
    this.#holding = held.catch(() => {});
    return held;
  }

  /** Nothing runs beside the main process, and nothing can begin to but by a command of ours. */
  get isIdle(): boolean {
    return this.#running === 0 && this.#begunAtQuiet === this.#begun;
  }
}
