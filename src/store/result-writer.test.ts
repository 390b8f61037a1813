import { expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { resultOf } from "./conformance/store-case.ts";
import type { ResultBatch, RunHold } from "./run-store.ts";
import { ResultWriter } from "./result-writer.ts";

const unit = { result: resultOf(0), scores: [] };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function writerOn(clock: FakeClock, write: RunHold["write"], inFlight = 2): ResultWriter {
  return new ResultWriter({ write } as RunHold, clock, inFlight);
}

test("a store that does not answer is given up after a minute, counted from the write that hangs", async () => {
  const clock = new FakeClock();
  let writes = 0;
  using writer = writerOn(clock, () => (++writes === 1 ? Promise.resolve() : new Promise(() => {})));
  expect(await writer.add(unit)).toBeNull();
  await clock.advance(30_000);
  let failure: string | null | undefined;
  void writer.add(unit).then((told) => (failure = told));
  await turn();
  await clock.advance(59_999);
  expect(failure).toBeUndefined();
  await clock.advance(1);
  await turn();
  expect(failure).toContain("exceeded its limit of 60 seconds");
});

test("no timer is left when nothing is added any more", async () => {
  const clock = new FakeClock();
  {
    using writer = writerOn(clock, () => Promise.resolve());
    for (let n = 0; n < 3; n++) expect(await writer.add(unit)).toBeNull();
    expect(clock.pendingTimers).toBe(1);
  }
  expect(clock.pendingTimers).toBe(0);
});

test("results that are ready in one turn go together, and at once when nothing else is under way", async () => {
  const batches: number[][] = [];
  const write = async ({ results }: ResultBatch): Promise<void> => {
    batches.push(results.map(({ index }) => index));
  };
  using writer = writerOn(new FakeClock(), write, 3);
  const add = (index: number): Promise<string | null> => writer.add({ result: resultOf(index), scores: [] });
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
