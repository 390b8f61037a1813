/** Why work was told to stop; carried as a signal's reason, where the first one wins. */
export class AbortReason extends Error {
  readonly kind: "deadline" | "cancelled" | "budget" | "internal";
  /** The limit that was hit, when it was a deadline. */
  readonly limitMs: number | undefined;

  constructor(kind: AbortReason["kind"], message: string, limitMs?: number) {
    super(message);
    this.name = "AbortReason";
    this.kind = kind;
    this.limitMs = limitMs;
  }
}

/** True when the thrown value is a signal's reason of the given kind. */
export function isAbort(thrown: unknown, kind: AbortReason["kind"]): boolean {
  return thrown instanceof AbortReason && thrown.kind === kind;
}

/** A signal that follows a stranger's one and always says why in our words. */
export function followSignal(outer: AbortSignal | undefined, what: string): AbortSignal {
  const controller = new AbortController();
  const follow = (): void => {
    const { reason } = outer ?? {};
    controller.abort(reason instanceof AbortReason ? reason : new AbortReason("cancelled", `${what} was cancelled`));
  };
  if (outer?.aborted) follow();
  else outer?.addEventListener("abort", follow, { once: true });
  return controller.signal;
}
