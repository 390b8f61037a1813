import { expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import type { RunHold } from "./run-store.ts";
import { ResultWriter } from "./result-writer.ts";

const nothing = { results: [], scores: [] };
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function writerOn(clock: FakeClock, write: RunHold["write"]): ResultWriter {
  return new ResultWriter({ write } as RunHold, clock);
}

test("a store that does not answer is given up after a minute, counted from the write that hangs", async () => {
  const clock = new FakeClock();
  let writes = 0;
  using writer = writerOn(clock, () => (++writes === 1 ? Promise.resolve() : new Promise(() => {})));
  expect(await writer.add(nothing)).toBeNull();
  await clock.advance(30_000);
  let failure: string | null | undefined;
  void writer.add(nothing).then((told) => (failure = told));
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
    for (let n = 0; n < 3; n++) expect(await writer.add(nothing)).toBeNull();
    expect(clock.pendingTimers).toBe(1);
  }
  expect(clock.pendingTimers).toBe(0);
});
