import { expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { RolloutError } from "../base/rollout-error.ts";
import { sampleUnit } from "./conformance/sample-run.ts";
import type { RunLease } from "./run-store.ts";
import { UnitWriter } from "./unit-writer.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("gives up on a store that does not respond for a minute, counted from the write that hangs", async () => {
  const clock = new FakeClock();
  let writes = 0;
  const write = (): Promise<void> => (++writes === 1 ? Promise.resolve() : new Promise(() => {}));
  using writer = new UnitWriter({ write }, clock, 2);
  expect(await writer.add(sampleUnit(0))).toBeNull();
  await clock.advance(30_000);
  let failure: string | null | undefined;
  void writer.add(sampleUnit(1)).then((reason) => (failure = reason));
  await turn();
  await clock.advance(59_999);
  expect(failure).toBeUndefined();
  await clock.advance(1);
  await turn();
  expect(failure).toContain("exceeded its limit of 60 seconds");
});

test("leaves no timer behind", async () => {
  const clock = new FakeClock();
  {
    using writer = new UnitWriter({ write: () => Promise.resolve() }, clock, 2);
    for (let n = 0; n < 3; n++) expect(await writer.add(sampleUnit(n))).toBeNull();
    expect(clock.pendingTimers).toBe(1);
  }
  expect(clock.pendingTimers).toBe(0);
});

test("writes units that are ready in one turn together, and at once when all are there", async () => {
  const batches: number[][] = [];
  const write: RunLease["write"] = async (units) => {
    batches.push(units.map(({ index }) => index));
  };
  using writer = new UnitWriter({ write }, new FakeClock(), 3);
  const add = (index: number): Promise<string | null> => writer.add(sampleUnit(index));
  const some = [add(0), add(1)];
  expect(batches).toEqual([]);
  await Promise.all(some);
  const all = [add(2), add(3), add(4)];
  expect(batches).toEqual([
    [0, 1],
    [2, 3, 4],
  ]);
  await Promise.all(all);
  await add(5);
  expect(batches.at(-1)).toEqual([5]);
});

test("writes the last of several waiting units with the same index", async () => {
  const outputs: unknown[] = [];
  const write: RunLease["write"] = async (units) => {
    outputs.push(units.map(({ output }) => output));
  };
  using writer = new UnitWriter({ write }, new FakeClock(), 9);
  const added = ["first", "second"].map((output) => writer.add(sampleUnit(0, { output })));
  expect(await Promise.all(added)).toEqual([null, null]);
  expect(outputs).toEqual([["second"]]);
});

test("repeats a write that failed with a transient error", async () => {
  const clock = new FakeClock();
  let writes = 0;
  const write = async (): Promise<void> => {
    if (++writes < 3) throw new RolloutError("io_failed", "busy", { transient: true });
  };
  using writer = new UnitWriter({ write }, clock, 1);
  const added = writer.add(sampleUnit(0));
  await clock.advance(250);
  expect(await added).toBeNull();
  expect(writes).toBe(3);
});

test("stores the others when the store refuses one unit of a group", async () => {
  const stored: number[] = [];
  const write: RunLease["write"] = async (units) => {
    if (units.some(({ index }) => index === 1)) throw new Error("no room");
    stored.push(...units.map(({ index }) => index));
  };
  using writer = new UnitWriter({ write }, new FakeClock(), 3);
  const ends = await Promise.all([0, 1, 2].map((index) => writer.add(sampleUnit(index))));
  expect(ends).toEqual([null, "no room", null]);
  expect(stored).toEqual([0, 2]);
});
