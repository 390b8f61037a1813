import type { Clock } from "../../base/clock.ts";
import type { PoolMember } from "./executor-pool.ts";
import type { ExecutorListener } from "./executor-voice.ts";
import { SubprocessExecutor, type ExecutorLimits, type ExecutorSetup } from "./subprocess-executor.ts";

export interface StartRequest extends ExecutorSetup {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onNote: ExecutorListener;
}

/** Starts an executor that is ready for tasks; rejects when it cannot be used. */
export type StartExecutor = (request: StartRequest) => Promise<PoolMember>;

/** What an executor's process is started with. */
export interface ProcessWish {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
}

export const defaultLimits: ExecutorLimits = { discoverMs: 30_000, initMs: 60_000, shutdownMs: 10_000 };

/** Starts each executor in a process of its own. */
export function startsProcess(wish: ProcessWish): StartExecutor {
  return (request) => SubprocessExecutor.start({ ...wish, ...request, limits: defaultLimits });
}
