import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { AbortReason, followSignal, isAbort } from "./abort-reason.ts";
import { startDeadline } from "./deadline.ts";
import { raceWithSignal } from "./race-with-signal.ts";
import { settleWithin } from "./settle-within.ts";
import { withDeadline } from "./with-deadline.ts";

const forever = new Promise<never>(() => {});

describe("startDeadline", () => {
  test("aborts when its limit is over, and its reason tells the limit", async () => {
    const clock = new FakeClock();
    using deadline = startDeadline({ clock, limitMs: 1500, parent: null, what: "the verifier" });
    await clock.advance(1499);
    expect(deadline.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(deadline.signal.reason).toMatchObject({
      kind: "deadline",
      limitMs: 1500,
      message: "the verifier exceeded its limit of 1.5 seconds",
    });
  });

  test("follows its parent, whose reason wins when it comes first", async () => {
    const clock = new FakeClock();
    const parent = new AbortController();
    using deadline = startDeadline({ clock, limitMs: 10, parent: parent.signal, what: "x" });
    parent.abort(new AbortReason("cancelled", "stop"));
    await clock.advance(20);
    expect(isAbort(deadline.signal.reason, "cancelled")).toBe(true);
  });

  test("leaves no timer when it is disposed", () => {
    const clock = new FakeClock();
    startDeadline({ clock, limitMs: 10, parent: null, what: "x" })[Symbol.dispose]();
    expect(clock.pendingTimers).toBe(0);
  });

  test("without a limit it only follows its parent", () => {
    const clock = new FakeClock();
    using deadline = startDeadline({
      clock,
      limitMs: null,
      parent: AbortSignal.abort(new AbortReason("budget", "spent")),
      what: "x",
    });
    expect(deadline.signal.aborted).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("raceWithSignal", () => {
  test("hands what arrives after the abort to discard", async () => {
    const controller = new AbortController();
    const late: string[] = [];
    let arrive = (_value: string): void => {};
    const work = new Promise<string>((resolve) => (arrive = resolve));
    const raced = raceWithSignal(work, controller.signal, (value) => late.push(value));
    controller.abort(new AbortReason("cancelled", "stop"));
    await expect(raced).rejects.toThrow("stop");
    arrive("container");
    await Promise.resolve();
    expect(late).toEqual(["container"]);
  });
});

describe("settleWithin", () => {
  test("gives aborted work its grace, then goes on without it", async () => {
    const clock = new FakeClock();
    const controller = new AbortController();
    const outcome = settleWithin(forever, controller.signal, clock, 100).catch((error: unknown) => error);
    controller.abort(new AbortReason("cancelled", "stop"));
    await clock.advance(99);
    expect(clock.pendingTimers).toBe(1);
    await clock.advance(1);
    expect(isAbort(await outcome, "cancelled")).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  test("prefers the work's own outcome when it settles in its grace", async () => {
    const clock = new FakeClock();
    expect(await settleWithin(Promise.resolve(7), AbortSignal.abort(), clock, 100)).toBe(7);
  });
});

describe("withDeadline", () => {
  test("throws the limit's reason and leaves no timer", async () => {
    const clock = new FakeClock();
    const outcome = withDeadline(
      { clock, limitMs: 10, parent: null, what: "copying", graceMs: 5 },
      () => forever,
    ).catch((error: unknown) => error);
    await clock.advance(15);
    expect(isAbort(await outcome, "deadline")).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("followSignal", () => {
  test("says in our words why a stranger's signal was aborted", () => {
    expect(followSignal(AbortSignal.abort(), "the job").reason).toMatchObject({
      kind: "cancelled",
      message: "the job was cancelled",
    });
  });
});
