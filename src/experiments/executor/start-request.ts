import type { Clock } from "../../base/clock.ts";
import type { ExecutorListener } from "./executor-voice.ts";
import type { ExecutorLimits, ExecutorSetup } from "./subprocess-executor.ts";

/** What an executor that is ready for tasks is started with. */
export interface StartRequest extends ExecutorSetup {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onNote: ExecutorListener;
}

/** What an executor's process is started with. */
export interface ProcessWish {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

export const defaultLimits: ExecutorLimits = { discoverMs: 30_000, initMs: 60_000, shutdownMs: 10_000 };
