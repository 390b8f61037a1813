import type { CliContext } from "../cli-context.ts";
import type { Interrupts } from "../interrupts.ts";

// Time to kill executors and to store what is finished.
const graceMs = 2000;

/** Ends the process soon after the second signal, whatever is still pending. */
export function exitWhenForced(interrupts: Interrupts, { clock, process }: CliContext): Disposable {
  const onForce = (): void => {
    clock.startTimer(graceMs, () => {
      const name = interrupts.received ?? "SIGINT";
      // By the signal itself: process.exit() waits for system calls that may never return, such as opening a FIFO.
      process.removeAllListeners(name);
      process.kill(process.pid, name);
    });
  };
  interrupts.forceSignal.addEventListener("abort", onForce, { once: true });
  return { [Symbol.dispose]: () => interrupts.forceSignal.removeEventListener("abort", onForce) };
}
