import { expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { RolloutError } from "../base/rollout-error.ts";
import { sampleRun } from "./conformance/sample-run.ts";
import { startHeartbeat } from "./heartbeat.ts";
import type { Run } from "./run.ts";
import { leaseTimeoutMs } from "./run-store.ts";

const intervalMs = leaseTimeoutMs / 3;

test("renews the lease with the current run at each interval until it is stopped", async () => {
  const clock = new FakeClock();
  const stored: (number | undefined)[] = [];
  const renew = async (run?: Run): Promise<void> => void stored.push(run?.spendUsd);
  let spendUsd = 0;
  const heartbeat = startHeartbeat({ renew }, clock, {
    currentRun: () => sampleRun({ spendUsd: ++spendUsd }),
    onLost: () => {},
  });
  await clock.advance(intervalMs * 2);
  expect(stored).toEqual([1, 2]);
  heartbeat.stop();
  await clock.advance(intervalMs * 2);
  expect(stored).toEqual([1, 2]);
  expect(clock.pendingTimers).toBe(0);
});

test("continues after an error, and reports a lost lease once", async () => {
  const clock = new FakeClock();
  const errors = [
    new RolloutError("io_failed", "busy", { transient: true }),
    new Error("unexpected"),
    new RolloutError("in_use", "lost"),
    new RolloutError("in_use", "lost again"),
  ];
  const lost: string[] = [];
  const renew = (): Promise<void> => Promise.reject(errors.shift() ?? new Error("no more"));
  startHeartbeat({ renew }, clock, { onLost: ({ message }) => lost.push(message) });
  await clock.advance(intervalMs * 2);
  expect(lost).toEqual([]);
  await clock.advance(intervalMs * 4);
  expect(lost).toEqual(["lost"]);
  expect(clock.pendingTimers).toBe(0);
});
