import { systemClock, type Clock } from "../../base/clock.ts";
import type { RunContext } from "../run-context.ts";

/** What runs of tests stand on: waits without chance, and a clock that a test may move. */
export function testGround(clock: Clock = systemClock): RunContext {
  const owner = { pid: process.pid, bootId: "boot", hostname: "here", startTicks: null };
  const origin = { description: null, tags: {}, git: null, rolloutVersion: "0.0.0" };
  return { clock, owner, origin, random: () => 0 };
}

/** Numbers as items, each its own expected output. */
export function numbers(count: number): { id: string; input: number; expectedOutput: number }[] {
  return Array.from({ length: count }, (_, at) => ({ id: `n${at}`, input: at, expectedOutput: at }));
}

/** A promise that never settles. */
export const never = new Promise<never>(() => {});
