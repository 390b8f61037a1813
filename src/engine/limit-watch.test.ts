import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { LimitWatch, type LimitedCall } from "./limit-watch.ts";

function open() {
  const clock = new FakeClock();
  const told: string[] = [];
  const call = (what: string, limitMs: number): LimitedCall => ({
    dueAt: clock.monotonic() + limitMs,
    limitMs,
    what,
    onExceeded: ({ kind, message }) => told.push(`${kind}: ${message}`),
  });
  return { clock, told, call, watch: new LimitWatch(clock) };
}

describe("a watch over limits", () => {
  test("tells each call when its own limit has passed, whatever the order they came in", async () => {
    const { clock, told, call, watch } = open();
    watch.add(call("slow", 5000));
    watch.add(call("quick", 1000));
    await clock.advance(900);
    watch.add(call("late", 1000));
    expect(told).toEqual([]);
    await clock.advance(100);
    expect(told).toEqual(["deadline: quick exceeded its limit of 1 seconds"]);
    await clock.advance(900);
    expect(told).toHaveLength(2);
    await clock.advance(3100);
    expect(told.at(-1)).toBe("deadline: slow exceeded its limit of 5 seconds");
  });

  test("says nothing of calls that ended in time, nor after it was disposed", async () => {
    const { clock, told, call, watch } = open();
    const done = call("done", 1000);
    watch.add(done);
    watch.add(call("open", 2000));
    watch.delete(done);
    await clock.advance(1500);
    expect(told).toEqual([]);
    watch[Symbol.dispose]();
    await clock.advance(5000);
    expect(told).toEqual([]);
  });

  test("watches on when a call adds another one as it is told", async () => {
    const { clock, told, call, watch } = open();
    watch.add({ ...call("first", 1000), onExceeded: () => watch.add(call("second", 1000)) });
    await clock.advance(1000);
    await clock.advance(1000);
    expect(told).toEqual(["deadline: second exceeded its limit of 1 seconds"]);
  });
});
