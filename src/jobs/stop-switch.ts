import { AbortReason } from "../engine/abort-reason.ts";

/** Stops the taking of new trials, once and for one reason: a cancellation, a spent budget, a disk that takes nothing more. */
export class StopSwitch implements Disposable {
  readonly #controller = new AbortController();
  readonly #cancel: AbortSignal;
  readonly #onStop: (reason: AbortReason) => void;
  readonly #follow = (): void => this.stop(this.#cancel.reason as AbortReason);

  constructor(cancel: AbortSignal, onStop: (reason: AbortReason) => void) {
    this.#cancel = cancel;
    this.#onStop = onStop;
    if (cancel.aborted) this.#follow();
    else cancel.addEventListener("abort", this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isSpent(): boolean {
    const { reason } = this.signal as { reason: unknown };
    return reason instanceof AbortReason && reason.kind === "budget";
  }

  stop(reason: AbortReason): void {
    if (this.signal.aborted) {
      // A person who cancels a job that was only running out ends what still runs, and should be told so.
      if (reason.kind === "cancelled") this.#onStop(reason);
      return;
    }
    this.#onStop(reason);
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#cancel.removeEventListener("abort", this.#follow);
  }
}
