import { existsSync, rmSync, unwatchFile, watchFile } from "node:fs";
import type { Gate } from "../engine/gate.ts";

const lookMs = 250;

export interface PauseWatchOptions {
  /** There while the job is to take no new trials. */
  readonly file: string;
  readonly gate: Gate;
  readonly onChange: (isPaused: boolean) => void;
}

/** Closes a gate while the file that asks for it is there, so that another process can hold a job. */
export class PauseWatch implements Disposable {
  readonly #options: PauseWatchOptions;
  readonly #look = (): void => this.#follow();

  constructor(options: PauseWatchOptions) {
    this.#options = options;
    // Whoever takes a job up wants it to run.
    rmSync(options.file, { force: true });
    // Not by the kernel's notices: a job directory may be on a network's file system.
    watchFile(options.file, { interval: lookMs, persistent: false }, this.#look);
  }

  #follow(): void {
    const { file, gate, onChange } = this.#options;
    const isPaused = existsSync(file);
    if (isPaused !== gate.isOpen) return;
    if (isPaused) gate.close();
    onChange(isPaused);
    if (!isPaused) gate.open();
  }

  [Symbol.dispose](): void {
    unwatchFile(this.#options.file, this.#look);
    rmSync(this.#options.file, { force: true });
  }
}
