import type { JsonObject } from "../base/json.ts";
import type { RunEvent } from "../store/run.ts";

/** What happens in a dataset run: plain JSON, numbered from 1 without a gap. A finished unit carries its item's whole result. */
export type DatasetRunEvent = RunEvent & { readonly sequence: number; readonly item?: JsonObject | undefined };

export type DatasetRunListener = (event: DatasetRunEvent) => unknown;

type Saying = RunEvent & { readonly item?: JsonObject | undefined };

/** Tells a listener what happens, one event at a time and in order; whoever says something can wait until it was heard. */
export class RunVoice {
  readonly #listener: DatasetRunListener | undefined;
  readonly #onBroken: (thrown: unknown) => void;
  #sequence = 0;
  #last: Promise<void> = Promise.resolve();
  #isBroken = false;

  constructor(listener: DatasetRunListener | undefined, onBroken: (thrown: unknown) => void) {
    this.#listener = listener;
    this.#onBroken = onBroken;
  }

  /** Nothing has to be put into words when nobody listens. */
  get isHeard(): boolean {
    return this.#listener !== undefined && !this.#isBroken;
  }

  say(describe: () => Saying): Promise<void> {
    if (!this.isHeard) return this.#last;
    const event: DatasetRunEvent = { ...describe(), sequence: ++this.#sequence };
    this.#last = this.#last.then(() => this.#tell(event));
    return this.#last;
  }

  async #tell(event: DatasetRunEvent): Promise<void> {
    if (this.#isBroken) return;
    try {
      await this.#listener?.(event);
    } catch (thrown) {
      this.#isBroken = true;
      this.#onBroken(thrown);
    }
  }
}
