import { rmSync } from "node:fs";
import { access } from "node:fs/promises";
import type { Gate } from "../engine/gate.ts";

const checkIntervalMs = 250;

export interface PauseWatchOptions {
  /** Exists while the job must not start new trials. */
  readonly file: string;
  readonly gate: Gate;
  /** Called after the gate closes and before it opens. */
  readonly onChange: (isPaused: boolean) => void;
}

/** Closes a gate while a file exists, so that another process can pause a job. */
export class PauseWatch implements Disposable {
  readonly #options: PauseWatchOptions;
  // Not `watch`: a job directory can be on a network file system. Not `watchFile`: it misses a file that exists shortly.
  readonly #timer: NodeJS.Timeout;
  #isChecking = false;
  #isDisposed = false;

  constructor(options: PauseWatchOptions) {
    this.#options = options;
    // A job that is started or resumed is not paused.
    rmSync(options.file, { force: true });
    this.#timer = setInterval(() => void this.#check(), checkIntervalMs).unref();
  }

  async #check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    const isPaused = await access(this.#options.file).then(
      () => true,
      () => false,
    );
    this.#isChecking = false;
    if (!this.#isDisposed) this.#follow(isPaused);
  }

  #follow(isPaused: boolean): void {
    const { gate, onChange } = this.#options;
    if (isPaused !== gate.isOpen) return;
    if (isPaused) gate.close();
    onChange(isPaused);
    if (!isPaused) gate.open();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    clearInterval(this.#timer);
    rmSync(this.#options.file, { force: true });
  }
}
