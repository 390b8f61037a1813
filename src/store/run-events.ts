import { messageOf } from "../base/rollout-error.ts";
import type { RunEvent } from "./run.ts";

/** Receives events. If it returns a promise, the next event waits for it. */
export type EventListener = (event: RunEvent) => unknown;

/** Sends events to a listener, in order and one at a time. A listener that throws never ends the run. */
export class RunEvents {
  readonly #listener: EventListener | null;
  readonly #onError: (message: string) => void;
  /** The calls that have not settled; null if there are none. */
  #queue: Promise<void> | null = null;
  #hasFailed = false;

  /** `onError` is called once, for the first event that the listener fails to handle. */
  constructor(listener: EventListener | null | undefined, onError: (message: string) => void) {
    this.#listener = listener ?? null;
    this.#onError = onError;
  }

  /** False if there is no listener: events need not be made then. */
  get isObserved(): boolean {
    return this.#listener !== null;
  }

  /** Sends an event. The promise resolves once the listener has handled it and never rejects. */
  async emit(event: RunEvent): Promise<void> {
    if (this.#listener === null) return;
    const call = this.#queue === null ? this.#call(event) : this.#queue.then(() => this.#call(event));
    const queue = call.finally(() => {
      if (this.#queue === queue) this.#queue = null;
    });
    this.#queue = queue;
    await queue;
  }

  async #call(event: RunEvent): Promise<void> {
    try {
      await this.#listener?.(event);
    } catch (thrown) {
      if (this.#hasFailed) return;
      this.#hasFailed = true;
      this.#onError(`the event listener failed on ${event.type}: ${messageOf(thrown)}`);
    }
  }
}
