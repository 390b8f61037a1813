import type { Clock } from "../../../base/clock.ts";
import { ExecStream, type PodAddress } from "../connection/exec-stream.ts";
import type { KubeClient } from "../connection/kube-client.ts";
import { isPassing, KubeError } from "../connection/kube-error.ts";
import type { PodEnd, PodLife } from "../pods/pod-life.ts";
import { runTool, type ToolOutcome, type ToolRequest } from "./run-tool.ts";

const firstWaitMs = 200;
const longestWaitMs = 5000;
const settleMs = 10_000;
// The exit code of a program that SIGKILL ended.
const killedCode = 137;

export interface PodShellOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly address: PodAddress;
  readonly life: PodLife;
  /** How long a lost connection is made again. */
  readonly patienceMs: number;
}

/** Starts programs in one Pod over connections that may be lost, and knows whether that is the Pod's end. */
export class PodShell {
  readonly options: PodShellOptions;

  constructor(options: PodShellOptions) {
    this.options = options;
  }

  open(command: readonly string[], signal: AbortSignal): Promise<ExecStream> {
    const { client, clock, address } = this.options;
    return ExecStream.open(client, { ...address, command, clock, signal });
  }

  /** Runs a small tool that may be run twice, and does so when the connection is lost. Rejects when the Pod's end killed it. */
  async runTool(request: ToolRequest): Promise<ToolOutcome> {
    const { signal } = request;
    const outcome = await this.untilHeard(signal, () =>
      runTool((command, until) => this.open(command, until), request),
    );
    const end = outcome.exitCode === killedCode ? await this.endSoon(signal) : null;
    if (end !== null) throw this.options.life.lost(end);
    return outcome;
  }

  /** Does something over a connection, and again while the connection is lost and the Pod is not. */
  async untilHeard<T>(signal: AbortSignal, work: (tries: number) => Promise<T>): Promise<T> {
    const { clock, patienceMs } = this.options;
    const endMs = clock.monotonic() + patienceMs;
    for (let tries = 0; ; tries++) {
      try {
        return await work(tries);
      } catch (error) {
        signal.throwIfAborted();
        await this.assertPassing(error, signal);
        if (clock.monotonic() >= endMs) throw error;
        await clock.sleep(Math.min(firstWaitMs * 2 ** tries, longestWaitMs), signal);
      }
    }
  }

  /** Throws what a failure means: the Pod's end, or the failure itself when it does not pass. */
  async assertPassing(error: unknown, signal: AbortSignal): Promise<void> {
    if (!(error instanceof KubeError)) throw error;
    const { life } = this.options;
    if (isCannotStart(error)) throw error;
    if (error.status === null || error.status === 429 || error.status === 503) {
      if (life.isOver) throw life.lost(await life.whenEnded(signal));
      return;
    }
    // The kubelet hears of an end before the API server does.
    const end = await this.endSoon(signal);
    if (end !== null) throw life.lost(end);
    if (!isPassing(error)) throw error;
  }

  /** How the Pod ended, when that is heard of within some seconds. */
  async endSoon(signal: AbortSignal): Promise<PodEnd | null> {
    const { clock, life } = this.options;
    const waiting = new AbortController();
    const timer = clock.startTimer(settleMs, () => waiting.abort());
    try {
      return await life.whenEnded(AbortSignal.any([waiting.signal, signal]));
    } catch {
      signal.throwIfAborted();
      return null;
    } finally {
      timer.clear();
    }
  }
}

/** True when the container runtime says that there is no such program; it has no other word for it. */
export function isCannotStart(error: unknown): boolean {
  return (
    error instanceof KubeError &&
    error.status === 500 &&
    /executable file not found|no such file or directory|permission denied/i.test(error.message)
  );
}
