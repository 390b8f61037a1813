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
  emit(event: RunEvent): Promise<void> {
    if (this.#listener === null) return settled;
    if (this.#queue !== null) return this.#wait(this.#queue.then(() => this.#call(event)));
    // A listener that returns no promise costs none.
    const returned = this.#invoke(event);
    return isThenable(returned) ? this.#wait(this.#handle(event, returned)) : settled;
  }

  #wait(call: Promise<void>): Promise<void> {
    const queue = call.finally(() => {
      if (this.#queue === queue) this.#queue = null;
    });
    this.#queue = queue;
    return queue;
  }

  async #call(event: RunEvent): Promise<void> {
    await this.#handle(event, this.#invoke(event));
  }

  async #handle(event: RunEvent, returned: unknown): Promise<void> {
    try {
      await returned;
    } catch (thrown) {
      this.#fail(event, thrown);
    }
  }

  #invoke(event: RunEvent): unknown {
    try {
      return this.#listener?.(event);
    } catch (thrown) {
      this.#fail(event, thrown);
      return undefined;
    }
  }

  #fail(event: RunEvent, thrown: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    this.#onError(`the event listener failed on ${event.type}: ${messageOf(thrown)}`);
  }
}

const settled = Promise.resolve();

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
