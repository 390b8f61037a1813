import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { LimitWatch, type LimitedCall } from "./limit-watch.ts";

function open() {
  const clock = new FakeClock();
  const told: string[] = [];
  const calls = new Set<LimitedCall>();
  const begin = (what: string, limitMs: number): LimitedCall => {
    const call = { dueAt: clock.monotonic() + limitMs, limitMs, what };
    calls.add(call);
    watch.begin(call);
    return call;
  };
  const watch = new LimitWatch<LimitedCall>({
    clock,
    calls: () => calls,
    onExceeded(call, { kind, message }) {
      calls.delete(call);
      told.push(`${kind}: ${message}`);
      if (call.what === "first") begin("second", 1000);
    },
  });
  return { clock, told, calls, begin, watch };
}

describe("a watch over limits", () => {
  test("tells each call when its own limit has passed, whatever the order they came in", async () => {
    const { clock, told, begin } = open();
    begin("slow", 5000);
    begin("quick", 1000);
    await clock.advance(900);
    begin("late", 1000);
    expect(told).toEqual([]);
    await clock.advance(100);
    expect(told).toEqual(["deadline: quick exceeded its limit of 1 seconds"]);
    await clock.advance(900);
    expect(told).toHaveLength(2);
    await clock.advance(3100);
    expect(told.at(-1)).toBe("deadline: slow exceeded its limit of 5 seconds");
  });

  test("says nothing of calls that ended in time, nor after it was disposed", async () => {
    const { clock, told, calls, begin, watch } = open();
    const done = begin("done", 1000);
    begin("open", 2000);
    calls.delete(done);
    await clock.advance(1500);
    expect(told).toEqual([]);
    watch[Symbol.dispose]();
    await clock.advance(5000);
    expect(told).toEqual([]);
  });

  test("watches on when another call begins as one is told", async () => {
    const { clock, told, begin } = open();
    begin("first", 1000);
    await clock.advance(1000);
    await clock.advance(1000);
    expect(told.at(-1)).toBe("deadline: second exceeded its limit of 1 seconds");
  });
});
