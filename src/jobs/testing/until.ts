/** Resolves as soon as something is true; looks often and gives up after some real seconds. */
export async function until(condition: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 10_000;
  while (!condition()) {
    if (performance.now() > giveUpAt) throw new Error("what the test waits for did not happen");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** A gate that a script waits at until the test opens it. */
export function makeGate(): { readonly passed: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: () => resolve() };
}

/** Never resolves, and rejects with the signal's reason once it is aborted. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}

/** Never settles, as an engine that hangs. */
export const forever: Promise<never> = new Promise<never>(() => {});
