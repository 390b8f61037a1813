import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Gate } from "./gate.ts";
import { runWindow, type WindowOptions } from "./window.ts";

interface Unit {
  readonly id: number;
  readonly lane: string;
  readonly group: string;
}

const never = new AbortController().signal;

function options(
  units: readonly Unit[],
  limit: number,
  run: WindowOptions<Unit>["run"],
  extra: Partial<WindowOptions<Unit>> = {},
): WindowOptions<Unit> {
  return {
    units,
    limit,
    laneOf: (unit) => unit.lane,
    groupsOf: (unit) => [unit.lane, unit.group],
    groupLimits: new Map(),
    signal: never,
    run,
    ...extra,
  };
}

function makeUnits(count: number, lanes: readonly string[] = ["a"]): Unit[] {
  return lanes.flatMap((lane, at) =>
    Array.from({ length: count }, (_, n) => ({ id: at * count + n, lane, group: "g" })),
  );
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("runWindow", () => {
  test("starts nothing while its gate is closed, and goes on when it opens", async () => {
    const gate = new Gate();
    const started: number[] = [];
    const run = async ({ id }: Unit): Promise<void> => {
      started.push(id);
      if (id === 1) gate.close();
      await tick();
    };
    const window = runWindow(options(makeUnits(5), 1, run, { gate }));
    for (let turn = 0; turn < 20; turn++) await tick();
    expect(started).toEqual([0, 1]);
    gate.open();
    expect(await window).toEqual([]);
    expect(started).toEqual([0, 1, 2, 3, 4]);
  });

  test("ends when it is stopped with its gate closed", async () => {
    const gate = new Gate();
    const stopping = new AbortController();
    gate.close();
    const window = runWindow(options(makeUnits(2), 1, tick, { gate, signal: stopping.signal }));
    stopping.abort();
    expect(await window).toHaveLength(2);
  });

  test("runs every unit exactly once, never more than the limit at a time, and never idles with work left", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 1, max: 8 }),
        fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 30, maxLength: 30 }),
        async (count, limit, turns) => {
          const seen: number[] = [];
          let running = 0;
          let most = 0;
          const skipped = await runWindow(
            options(makeUnits(count), limit, async (unit) => {
              running++;
              most = Math.max(most, running);
              seen.push(unit.id);
              for (let turn = 0; turn < (turns[unit.id] ?? 0); turn++) await tick();
              running--;
            }),
          );
          expect(skipped).toEqual([]);
          expect(seen.toSorted((a, b) => a - b)).toEqual(makeUnits(count).map((unit) => unit.id));
          expect(most).toBe(Math.min(limit, count));
        },
      ),
      { numRuns: 50 },
    );
  });

  test("lanes take turns in starting units", async () => {
    const started: string[] = [];
    await runWindow(options(makeUnits(2, ["a", "b", "c"]), 1, async (unit) => void started.push(unit.lane)));
    expect(started).toEqual(["a", "b", "c", "a", "b", "c"]);
  });

  test("a lane keeps plan order", async () => {
    const started: number[] = [];
    await runWindow(options(makeUnits(5), 2, async (unit) => void started.push(unit.id)));
    expect(started).toEqual([0, 1, 2, 3, 4]);
  });

  test("a group never exceeds its own limit while others go on", async () => {
    const running = new Map<string, number>();
    const most = new Map<string, number>();
    await runWindow(
      options(
        makeUnits(6, ["a", "b"]),
        6,
        async (unit) => {
          running.set(unit.lane, (running.get(unit.lane) ?? 0) + 1);
          most.set(unit.lane, Math.max(most.get(unit.lane) ?? 0, running.get(unit.lane) ?? 0));
          await tick();
          await tick();
          running.set(unit.lane, (running.get(unit.lane) ?? 0) - 1);
        },
        { groupLimits: new Map([["a", 2]]) },
      ),
    );
    expect(most.get("a")).toBe(2);
    expect(most.get("b")).toBeGreaterThan(2);
  });

  test("an abort stops the taking and returns what never started, in plan order", async () => {
    const stop = new AbortController();
    const started: number[] = [];
    const skipped = await runWindow(
      options(
        makeUnits(3, ["a", "b"]),
        2,
        async (unit) => {
          started.push(unit.id);
          stop.abort();
          await tick();
        },
        { signal: stop.signal },
      ),
    );
    expect(started).toEqual([0]);
    expect(skipped.map((unit) => unit.id)).toEqual([1, 2, 3, 4, 5]);
  });

  test("a signal that is already aborted starts nothing", async () => {
    const skipped = await runWindow(
      options(makeUnits(2), 2, () => Promise.reject(new Error("ran")), { signal: AbortSignal.abort() }),
    );
    expect(skipped).toHaveLength(2);
  });

  test("a unit that only waits lends its place and takes one again before new units start", async () => {
    const order: string[] = [];
    await runWindow(
      options(makeUnits(3), 1, async (unit, slot) => {
        order.push(`start ${unit.id}`);
        if (unit.id === 0) {
          await slot.lendWhile(tick);
          order.push("again 0");
        } else await tick().then(tick);
      }),
    );
    expect(order).toEqual(["start 0", "start 1", "again 0", "start 2"]);
  });

  test("a unit that tidies up leaves its place to the next, and the window ends after both", async () => {
    const order: string[] = [];
    await runWindow(
      options(makeUnits(2), 1, async ({ id }, slot) => {
        order.push(`start ${id}`);
        slot.leave();
        slot.leave();
        await tick();
        if (id === 0) await tick().then(tick).then(tick);
        order.push(`end ${id}`);
      }),
    );
    expect(order).toEqual(["start 0", "start 1", "end 1", "end 0"]);
  });

  test.each([
    [1, 2],
    [3, 6],
    [20, 24],
  ])("of %i units never more than as many again, and never more than four, tidy up", async (limit, most) => {
    let there = 0;
    let seen = 0;
    const stopping = new AbortController();
    const work = runWindow(
      options(
        makeUnits(60),
        limit,
        async (_unit, slot) => {
          seen = Math.max(seen, ++there);
          slot.leave();
          for (let turn = 0; turn < 5; turn++) await tick();
          there--;
        },
        { signal: stopping.signal },
      ),
    );
    expect(await work).toEqual([]);
    expect(seen).toBe(most);
  });

  test("a wait that rejects still takes the place back, so that the count stays right", async () => {
    let most = 0;
    let running = 0;
    await runWindow(
      options(makeUnits(6), 2, async (unit, slot) => {
        if (unit.id === 0) await slot.lendWhile(() => Promise.reject(new Error("no"))).catch(() => {});
        running++;
        most = Math.max(most, running);
        await tick();
        running--;
      }),
    );
    expect(most).toBe(2);
  });

  test("a rejection is a bug: it stops the window and is thrown once the others are done", async () => {
    let ended = 0;
    const work = runWindow(
      options(makeUnits(4), 2, async (unit) => {
        if (unit.id === 0) throw new Error("bug");
        await tick();
        ended++;
      }),
    );
    await expect(work).rejects.toThrow("bug");
    expect(ended).toBe(1);
  });
});
