import { AssertionError } from "node:assert/strict";
import { systemClock } from "../../base/clock.ts";
import type { Environment, ExecRequest, ExecResult, OutputSink } from "../environment.ts";
import type { ConformanceSubject } from "./conformance-case.ts";

/** How a command ended, with all it printed. */
export interface CommandOutcome extends ExecResult {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
}

/** A sink that keeps everything. */
export function collect(): OutputSink & { bytes(): Buffer; text(): string } {
  const chunks: Uint8Array[] = [];
  return {
    write: (chunk) => void chunks.push(Buffer.from(chunk)),
    bytes: () => Buffer.concat(chunks),
    text: () => Buffer.concat(chunks).toString("utf8"),
  };
}

/** Runs a command and keeps its output. */
export async function runCommand(
  environment: Environment,
  command: readonly string[],
  request: Partial<ExecRequest> & { readonly signal: AbortSignal },
): Promise<CommandOutcome> {
  const stdout = collect();
  const stderr = collect();
  const result = await environment.exec({ command, env: {}, stdout, stderr, ...request });
  return { ...result, stdout: stdout.bytes(), stderr: stderr.bytes() };
}

/** Runs a bash script and keeps its output. */
export function runScript(
  environment: Environment,
  script: string,
  request: Partial<ExecRequest> & { readonly signal: AbortSignal },
): Promise<CommandOutcome> {
  return runCommand(environment, ["bash", "-c", script], request);
}

/** Does work that a broken provider would never end, and fails with the given words when it takes too long. */
export async function within<T>(
  { patienceMs, signal }: Pick<ConformanceSubject, "patienceMs" | "signal">,
  complaint: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const { promise: tooLate, reject } = Promise.withResolvers<never>();
  const giveUp = (reason: unknown): void => {
    // Rejects first, so that what the work says to its abort comes second.
    reject(reason);
    controller.abort(reason);
  };
  const onAbort = (): void => giveUp(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  const timer = systemClock.startTimer(patienceMs, () => giveUp(new AssertionError({ message: complaint })));
  try {
    return await Promise.race([work(controller.signal), tooLate]);
  } finally {
    timer.clear();
    signal.removeEventListener("abort", onAbort);
  }
}
