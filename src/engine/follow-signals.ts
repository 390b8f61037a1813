/** A signal that follows several until it is disposed; the first reason wins. */
export function followSignals(
  signals: readonly (AbortSignal | undefined)[],
): Disposable & { readonly signal: AbortSignal } {
  const controller = new AbortController();
  const followed = signals.map((signal) => ({ signal, follow: () => controller.abort(signal?.reason) }));
  for (const { signal, follow } of followed) {
    if (signal?.aborted) follow();
    else signal?.addEventListener("abort", follow, { once: true });
  }
  return {
    signal: controller.signal,
    [Symbol.dispose]() {
      for (const { signal, follow } of followed) signal?.removeEventListener("abort", follow);
    },
  };
}
