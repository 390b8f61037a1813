import { describe, expect, test } from "vitest";
import { systemClock } from "../base/clock.ts";
import { FakeClock } from "../base/testing/fake-clock.ts";
import type { RunEvent } from "../store/run.ts";
import type { RunConfig } from "./run-config.ts";
import { runDataset } from "./run-dataset.ts";
import type { RunSummary } from "./summary.ts";
import { never, numbers, testGround } from "./testing/test-ground.ts";

const echo = async (input: unknown): Promise<unknown> => input;

function run(config: RunConfig): Promise<RunSummary> {
  return runDataset(config, testGround());
}

async function refused(config: RunConfig): Promise<string> {
  const thrown: unknown = await run(config).catch((error: unknown) => error);
  return thrown instanceof Error ? thrown.message : `not refused: ${JSON.stringify(thrown)}`;
}

function transient(): Error {
  return Object.assign(new Error("busy"), { status: 503 });
}

describe("before the start", () => {
  test.each([
    [{ maxConcurrency: 0 }, "maxConcurrency: must be a whole number of at least 1, not 0"],
    [{ maxConcurrency: 1.5 }, "maxConcurrency: must be a whole number of at least 1, not 1.5"],
    [{ maxRetries: -1 }, "maxRetries: must be a whole number of at least 0, not -1"],
    [{ passAt: Number.NaN }, "passAt: must be a number, not NaN"],
    [{ itemTimeout: Number.NaN }, "itemTimeout: must be a number of at least 1, not NaN"],
    [{ retryDelay: Number.POSITIVE_INFINITY }, "retryDelay: must be a number of at least 0, not Infinity"],
    [{ repeats: 0 }, "repeats: must be a whole number of at least 1, not 0"],
    [{ limit: 2, sample: 2 }, "limit and sample: give one of them"],
    [{ datasetId: "d" }, "datasetId and data: give one of them; datasetId: needs a storage to find it in"],
    [{ maxConcurency: 3 }, 'maxConcurency: unknown option; did you mean "maxConcurrency"?'],
  ])("%o is refused with words", async (wrong, message) => {
    expect(await refused({ data: numbers(1), target: echo, ...wrong })).toContain(message);
  });

  test("no data, no target, and a processor are refused", async () => {
    expect(await refused({ target: echo })).toContain("datasetId or data");
    expect(await refused({ data: [], target: echo })).toContain("has no items");
    expect(await refused({ data: numbers(1) })).toBe("no target is given");
    expect(await refused({ data: numbers(1), targetType: "processor", targetId: "p" })).toContain("not supported");
    expect(await refused({ data: numbers(1), target: {} as never })).toContain("nothing that can be called");
  });

  test("data may be anything to iterate over, and what it is not is told", async () => {
    async function* later() {
      yield* numbers(3);
    }
    expect(await run({ data: later(), target: echo })).toMatchObject({ succeededCount: 3 });
    expect(await run({ data: later, target: echo })).toMatchObject({ succeededCount: 3 });
    expect(await run({ data: new Set(numbers(2)), target: echo })).toMatchObject({ succeededCount: 2 });
    const thrower = (): never => {
      throw new Error("no file");
    };
    expect(await refused({ data: thrower, target: echo })).toBe("data: failed: no file");
    async function* broken() {
      yield* numbers(1);
      thrower();
    }
    expect(await refused({ data: broken(), target: echo })).toBe("data: failed: no file");
    expect(await refused({ data: "items.jsonl" as never, target: echo })).toBe("data: is string, not a list of items");
    expect(await refused({ data: () => ({}) as never, target: echo })).toContain("data: gave an object");
    expect(await refused(null as never)).toContain("its config is null");
  });

  test("a function without a name of its own is called as the run is", async () => {
    const named = async (target: RunConfig["target"]): Promise<unknown> => {
      const heads: unknown[] = [];
      await run({
        name: "greetings",
        data: numbers(1),
        target,
        onEvent: (event) => event.type === "run_started" && heads.push(event.run.plan.groups[0]?.labels["target"]),
      });
      return heads[0];
    };
    const target = (input: unknown): unknown => input;
    expect(await named(target)).toBe("greetings");
    expect(await named((input: unknown) => input)).toBe("greetings");
    expect(await named(echo)).toBe("echo");
  });

  test("what passes and how often items run is told at the start", async () => {
    const shapes: unknown[] = [];
    const right = ({ output, groundTruth }: { output: unknown; groundTruth: unknown }) => output === groundTruth;
    await run({
      data: numbers(3),
      target: echo,
      scorers: [right],
      passAt: 0.5,
      repeats: 2,
      onEvent: (event) => event.type === "run_started" && shapes.push(event.run.shape),
    });
    expect(shapes).toMatchObject([{ scoreName: "right", passAt: 0.5, isScore: true, unitNoun: "run", itemCount: 3 }]);
  });

  test("what is wrong with data is told all at once", async () => {
    const data = [
      { id: "", input: 1 },
      { ouput: 2 },
      { id: "a", input: 1, tags: [] },
      { id: "a", input: 2, metadata: 7 },
    ];
    const message = await refused({ data: data as never, target: echo });
    expect(message).toContain(
      "data[0].id: must be a text that is not empty; data[1] has no input; data[2].tags: unknown",
    );
    expect(message).toContain('data[3].metadata: must be an object; data[3]: two items of `data` have the id "a"');
  });

  test("an unknown target or scorer is refused, and the nearest known one is named", async () => {
    const registry = { agents: { writer: { generate: echo } }, scorers: { exact: { id: "exact", run: () => 1 } } };
    const data = numbers(1);
    expect(await refused({ data, targetType: "agent", targetId: "writter", registry })).toContain(
      'did you mean "writer"?',
    );
    expect(await refused({ data, target: echo, scorers: ["exactt"], registry })).toContain('did you mean "exact"?');
  });

  test("an item with a key that items do not have is refused, with the one that was meant", async () => {
    const data = [{ input: 1, expectedOuput: 2 }];
    expect(await refused({ data, target: echo })).toBe(
      'data[0].expectedOuput: unknown key; did you mean "expectedOutput"?',
    );
  });

  test("two items or two scorers with one id are refused", async () => {
    const data = [
      { id: "a", input: 1 },
      { id: "a", input: 2 },
    ];
    expect(await refused({ data, target: echo })).toContain('the id "a"');
    const scorer = { id: "s", run: () => ({ score: 1 }) };
    expect(await refused({ data: numbers(1), target: echo, scorers: [scorer, scorer] })).toContain('the id "s"');
  });
});

describe("a run", () => {
  test("takes every item to the target and returns results in the order of the items", async () => {
    const target = async (input: number): Promise<number> => {
      await systemClock.sleep(20 - input * 2, new AbortController().signal);
      return input * 10;
    };
    const summary = await run({ data: numbers(10), target, maxConcurrency: 10 });
    expect(summary.results.map(({ output }) => output)).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
    expect(summary).toMatchObject({
      status: "completed",
      totalItems: 10,
      succeededCount: 10,
      failedCount: 0,
      skippedCount: 0,
      completedWithErrors: false,
      error: null,
    });
  });

  test("never has more items at once than maxConcurrency, and 5 by default", async () => {
    for (const [maxConcurrency, expected] of [
      [undefined, 5],
      [1, 1],
      [3, 3],
    ] as const) {
      let running = 0;
      let most = 0;
      const target = async (): Promise<void> => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
      };
      await run({ data: numbers(20), target, maxConcurrency });
      expect(most).toBe(expected);
    }
  });

  test("an item that fails does not stop the others, and the run is completed with errors", async () => {
    const target = async (input: number): Promise<number> => {
      if (input === 1) throw new TypeError("one is too few");
      return input;
    };
    const summary = await run({ data: numbers(3), target });
    expect(summary).toMatchObject({
      status: "completed",
      completedWithErrors: true,
      succeededCount: 2,
      failedCount: 1,
    });
    expect(summary.results[1]).toMatchObject({
      output: null,
      error: "one is too few",
      errorDetails: { name: "TypeError" },
    });
  });

  test("a run whose every item fails has failed", async () => {
    const summary = await run({ data: numbers(2), target: () => Promise.reject(new Error("no")) });
    expect(summary).toMatchObject({ status: "failed", completedWithErrors: false, failedCount: 2, error: null });
  });

  test("a target that throws before it returns, or throws no error at all, fails its item alone", async () => {
    const target = (input: number): number => {
      if (input === 0) throw new Error("sync");
      // oxlint-disable-next-line no-throw-literal
      if (input === 1) throw "text";
      if (input === 2) throw undefined;
      return input;
    };
    const summary = await run({ data: numbers(4), target });
    expect(summary.results.map(({ error }) => error)).toEqual(["sync", "text", "undefined", null]);
  });

  test("keeps no results when it is told not to, with the same counts", async () => {
    const summary = await run({ data: numbers(5), target: echo, retainResults: false });
    expect(summary).toMatchObject({ results: [], succeededCount: 5 });
  });

  test("runs each item as often as repeats says", async () => {
    const summary = await run({ data: numbers(2), target: echo, repeats: 3 });
    expect(summary.results.map(({ itemId, repeat, index }) => `${index} ${itemId} ${repeat}`)).toEqual([
      "0 n0 1",
      "1 n0 2",
      "2 n0 3",
      "3 n1 1",
      "4 n1 2",
      "5 n1 3",
    ]);
    expect(summary.totalItems).toBe(6);
  });

  test("limit takes the first items, sample some by chance and always the same", async () => {
    const ids = async (config: Partial<RunConfig>): Promise<string[]> =>
      (await run({ data: numbers(100), target: echo, ...config })).results.map(({ itemId }) => itemId);
    expect(await ids({ limit: 2 })).toEqual(["n0", "n1"]);
    const drawn = await ids({ sample: 10, seed: 1 });
    expect(drawn).toHaveLength(10);
    expect(await ids({ sample: 10, seed: 1 })).toEqual(drawn);
    expect(await ids({ sample: 10, seed: 2 })).not.toEqual(drawn);
  });

  test("takes its items from a function", async () => {
    expect((await run({ data: async () => numbers(3), target: echo })).succeededCount).toBe(3);
  });

  test("values that are circular or huge, and targets that answer twice, do no harm", async () => {
    const ring: Record<string, unknown> = {};
    ring["self"] = ring;
    const target = (input: number): unknown => {
      if (input === 0) return ring;
      if (input === 1) return "x".repeat(1e6);
      return new Promise((resolve) => {
        resolve(1);
        // oxlint-disable-next-line promise/no-multiple-resolved
        resolve(2);
      });
    };
    const summary = await run({ data: numbers(3), target });
    expect(summary.succeededCount).toBe(3);
    expect(summary.results[2]?.output).toBe(1);
  });
});

describe("what a target or a scorer does to what it was given", () => {
  test("is seen by no other call, by no scorer, and not by the caller", async () => {
    const data = [{ id: "a", input: { list: [1] }, expectedOutput: { n: 2 } }];
    const target = (input: { list: number[] }, call: { expectedOutput: unknown }): { n: number } => {
      input.list.push(9);
      (call.expectedOutput as { n: number }).n = 7;
      return { n: input.list.length };
    };
    const scorers = [
      function meddling({ output }: { output: unknown }) {
        (output as { n: number }).n = 1000;
        return 0;
      },
      function right({ output, groundTruth }: { output: unknown; groundTruth?: unknown }) {
        return (output as { n: number }).n === (groundTruth as { n: number }).n ? 1 : 0;
      },
    ];
    const summary = await run({ data, target, scorers, repeats: 3, maxConcurrency: 1 });
    expect(summary.scorers).toMatchObject([{ mean: 0 }, { scorerId: "right", mean: 1 }]);
    expect(summary.results[2]).toMatchObject({ input: { list: [1] }, output: { n: 2 }, expectedOutput: { n: 2 } });
    expect(data[0]).toEqual({ id: "a", input: { list: [1] }, expectedOutput: { n: 2 } });
  });
});

test("an error is told with its causes, and with the code that one of them has", async () => {
  const cause = Object.assign(new Error("getaddrinfo ENOTFOUND nowhere"), { code: "ENOTFOUND" });
  const summary = await run({
    data: numbers(1),
    target: () => Promise.reject(new TypeError("fetch failed", { cause })),
  });
  expect(summary.results[0]).toMatchObject({
    error: "fetch failed: getaddrinfo ENOTFOUND nowhere",
    errorDetails: { code: "ENOTFOUND" },
  });
});

describe("retries", () => {
  const retrying = { maxRetries: 3, retryDelay: 1000 };

  async function runOnFakeClock(config: RunConfig): Promise<{ summary: RunSummary; waits: number[] }> {
    const clock = new FakeClock();
    const waits: number[] = [];
    const work = runDataset(config, { ...testGround(clock), random: () => 0.5 });
    let summary: RunSummary | undefined;
    void work.then((value) => (summary = value));
    for (;;) {
      await clock.advance(0);
      for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
      if (summary !== undefined) return { summary, waits };
      const wait = clock.nextTimerMs;
      if (wait === undefined) throw new Error("nothing to wait for");
      waits.push(wait);
      await clock.advance(wait);
    }
  }

  test("an error that may pass is tried again after retryDelay x 2^n and a little more", async () => {
    let calls = 0;
    const target = async (): Promise<string> => {
      if (++calls < 4) throw transient();
      return "at last";
    };
    const { summary, waits } = await runOnFakeClock({ data: numbers(1), target, ...retrying });
    expect(waits).toEqual([1250, 2250, 4250]);
    expect(summary.results[0]).toMatchObject({ output: "at last", retryCount: 3, error: null });
  });

  test("after maxRetries the last error counts", async () => {
    const { summary } = await runOnFakeClock({
      data: numbers(1),
      target: () => Promise.reject(transient()),
      ...retrying,
    });
    expect(summary.results[0]).toMatchObject({ error: "busy", retryCount: 3 });
  });

  test("an error that will not pass is not tried again, and by default none is", async () => {
    let calls = 0;
    const wrong = async (): Promise<never> => {
      calls++;
      throw new Error("Invalid input format");
    };
    await run({ data: numbers(1), target: wrong, ...retrying });
    expect(calls).toBe(1);
    await run({
      data: numbers(1),
      target: async () => {
        calls++;
        throw transient();
      },
    });
    expect(calls).toBe(2);
  });

  test("a wait between tries ends at once when the run is aborted", async () => {
    const stop = new AbortController();
    const clock = new FakeClock();
    const work = runDataset(
      { data: numbers(1), target: () => Promise.reject(transient()), ...retrying, signal: stop.signal },
      testGround(clock),
    );
    await clock.advance(500);
    stop.abort();
    expect(await work).toMatchObject({ status: "failed", failedCount: 1 });
    expect(clock.pendingTimers).toBe(0);
  });

  test("a wait between tries ends with the item's deadline", async () => {
    const { summary } = await runOnFakeClock({
      data: numbers(1),
      target: () => Promise.reject(transient()),
      ...retrying,
      itemTimeout: 500,
    });
    expect(summary.results[0]).toMatchObject({ error: "busy", retryCount: 0 });
  });
});

describe("deadlines", () => {
  test("a target that ignores its signal is cut off, and its late answer is dropped", async () => {
    const clock = new FakeClock();
    let seen: AbortSignal | undefined;
    const target = (_input: unknown, { signal }: { signal: AbortSignal }): Promise<unknown> => {
      seen = signal;
      return never;
    };
    const work = runDataset({ data: numbers(1), target, itemTimeout: 100 }, testGround(clock));
    await clock.advance(100);
    const summary = await work;
    expect(summary.results[0]?.error).toBe('item "n0" exceeded its limit of 0.1 seconds');
    expect(seen?.aborted).toBe(true);
    expect(clock.pendingTimers).toBe(0);
  });

  test("a target that holds the thread beyond the limit has exceeded it, and costs its neighbours nothing", async () => {
    const target = (input: unknown): unknown => {
      for (const end = performance.now() + (input === 1 ? 2100 : 0); performance.now() < end;);
      return input;
    };
    const summary = await run({ data: numbers(3), target, itemTimeout: 2000 });
    expect(summary.results.map(({ error }) => error)).toEqual([
      null,
      'item "n1" exceeded its limit of 2 seconds',
      null,
    ]);
    expect(summary.results[1]).toMatchObject({ output: null, errorDetails: { name: "AbortReason" } });
  });

  test("a target that waits and then holds the thread beyond the limit has exceeded it when it answers", async () => {
    const target = async (input: unknown): Promise<unknown> => {
      await new Promise((resolve) => setTimeout(resolve, 1));
      for (const end = performance.now() + 1100; performance.now() < end;);
      return input;
    };
    const summary = await run({ data: numbers(1), target, itemTimeout: 1000, maxRetries: 2 });
    expect(summary.results).toMatchObject([
      { error: 'item "n0" exceeded its limit of 1 seconds', output: null, retryCount: 0 },
    ]);
  });

  test("an item that is quick leaves no timer", async () => {
    const clock = new FakeClock();
    await runDataset({ data: numbers(3), target: echo, itemTimeout: 100 }, testGround(clock));
    expect(clock.pendingTimers).toBe(0);
  });

  test("a scorer that hangs is cut off by the item's deadline, and the item has succeeded", async () => {
    const clock = new FakeClock();
    const scorers = [
      { id: "slow", run: () => never },
      function quick() {
        return 1;
      },
    ];
    const work = runDataset({ data: numbers(1), target: echo, scorers, itemTimeout: 100 }, testGround(clock));
    await clock.advance(100);
    const summary = await work;
    expect(summary).toMatchObject({ status: "completed", succeededCount: 1 });
    expect(summary.results[0]?.scores).toMatchObject([
      { scorerId: "slow", score: null, error: 'item "n0" exceeded its limit of 0.1 seconds' },
      { scorerId: "quick", score: 1, error: null },
    ]);
  });
});

describe("abort", () => {
  test("a signal that is aborted already runs nothing and says so", async () => {
    let calls = 0;
    const summary = await run({ data: numbers(4), target: () => calls++, signal: AbortSignal.abort() });
    expect(calls).toBe(0);
    expect(summary).toMatchObject({ status: "failed", skippedCount: 4, results: [], completedWithErrors: false });
    expect(summary.error).toContain("aborted");
  });

  test("what is done stays, what runs has failed, what never ran is skipped", async () => {
    const stop = new AbortController();
    const target = (input: number): unknown => {
      if (input < 2) return input;
      if (input === 3) stop.abort();
      return never;
    };
    const summary = await run({ data: numbers(10), target, maxConcurrency: 2, signal: stop.signal });
    expect(summary).toMatchObject({ status: "failed", succeededCount: 2, failedCount: 2, skippedCount: 6 });
    expect(summary.results.map(({ index, isInterrupted }) => [index, isInterrupted])).toEqual([
      [0, false],
      [1, false],
      [2, true],
      [3, true],
    ]);
  });

  test("an abort of the last item leaves it interrupted; one after its end changes nothing", async () => {
    const stop = new AbortController();
    const target = (input: number): unknown => {
      if (input === 1) stop.abort();
      return input;
    };
    const summary = await run({ data: numbers(2), target, maxConcurrency: 1, signal: stop.signal });
    expect(summary).toMatchObject({ succeededCount: 1, failedCount: 1, skippedCount: 0, status: "failed" });
  });

  test("leaves no listener on the caller's signal", async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    Object.assign(signal, {
      addEventListener: (...args: Parameters<typeof add>) => (listeners++, add(...args)),
      removeEventListener: (...args: Parameters<typeof remove>) => (listeners--, remove(...args)),
    });
    await run({ data: numbers(20), target: echo, signal, itemTimeout: 1000 });
    expect(listeners).toBe(0);
  });

  test("whenever it comes, the counts add up and nothing is told after the return", async () => {
    for (let turns = 0; turns < 40; turns++) {
      const stop = new AbortController();
      const told: number[] = [];
      const work = run({
        data: numbers(12),
        target: async (input: number) => {
          for (let turn = 0; turn < 3; turn++) await Promise.resolve();
          return input;
        },
        scorers: [
          async function one() {
            await Promise.resolve();
            return 1;
          },
        ],
        maxConcurrency: 3,
        signal: stop.signal,
        onItemComplete: async (_result, index) => void told.push(index),
      });
      void (async () => {
        for (let turn = 0; turn < turns * 3; turn++) await Promise.resolve();
        stop.abort();
      })();
      const summary = await work;
      const { succeededCount, failedCount, skippedCount, totalItems } = summary;
      expect(succeededCount + failedCount + skippedCount).toBe(totalItems);
      expect(summary.results).toHaveLength(succeededCount + failedCount);
      const atReturn = told.length;
      await new Promise((resolve) => setTimeout(resolve, 2));
      expect(told).toHaveLength(atReturn);
    }
  });
});

describe("hooks and events", () => {
  test("onItemComplete is told of each item, is awaited, and is harmless when it throws", async () => {
    let open = 0;
    const told: number[] = [];
    const summary = await run({
      data: numbers(4),
      target: echo,
      maxConcurrency: 1,
      onItemComplete: async (result, index) => {
        expect(++open).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        open--;
        told.push(index);
        expect(result.itemId).toBe(`n${index}`);
        if (index === 2) throw new Error("full");
      },
    });
    expect(told).toEqual([0, 1, 2, 3]);
    expect(summary).toMatchObject({ status: "completed", warnings: ["onItemComplete failed: full"] });
    expect(summary.results).toHaveLength(4);
  });

  test("events are plain JSON and come one at a time", async () => {
    const events: RunEvent[] = [];
    let open = 0;
    await run({
      data: numbers(3),
      target: (input: number) => (input === 1 ? Promise.reject(new Error("no")) : { big: 1n, at: new Date(0) }),
      scorers: [
        function one() {
          return 1;
        },
      ],
      onEvent: async (event) => {
        expect(++open).toBe(1);
        await new Promise((resolve) => setImmediate(resolve));
        open--;
        expect(JSON.parse(JSON.stringify(event))).toEqual(event);
        events.push(event);
      },
    });
    expect(events[0]?.type).toBe("run_started");
    expect(events.at(-1)?.type).toBe("run_finished");
    const units = events.flatMap((event) => (event.type === "unit_finished" ? [event.unit] : []));
    expect(units.toSorted((a, b) => a.index - b.index)).toMatchObject([
      { key: "n0", status: "completed", input: 0, expected: 0, output: { big: "1", at: "1970-01-01T00:00:00.000Z" } },
      { key: "n1", status: "failed", input: 1, output: null, failure: { type: "target_failed", message: "no" } },
      { key: "n2", status: "completed", scores: [{ name: "one", value: 1 }] },
    ]);
  });

  test("the run waits for a slow listener instead of piling events up", async () => {
    let finished = 0;
    let most = 0;
    let heard = 0;
    await run({
      data: numbers(30),
      target: async () => void finished++,
      maxConcurrency: 2,
      onEvent: async ({ type }) => {
        await new Promise((resolve) => setImmediate(resolve));
        if (type === "unit_finished") heard++;
        most = Math.max(most, finished - heard);
      },
    });
    expect(most).toBeLessThanOrEqual(4);
  });

  test("a listener that throws is one warning, and the run goes on", async () => {
    const events: RunEvent[] = [];
    const summary = await run({
      data: numbers(50),
      target: echo,
      onEvent: async (event) => {
        events.push(event);
        await new Promise((resolve) => setImmediate(resolve));
        if (event.type === "unit_finished") throw new Error("broken pipe");
      },
    });
    const warning = "the event listener failed on unit_finished: broken pipe";
    expect(summary).toMatchObject({ status: "completed", succeededCount: 50, error: null, warnings: [warning] });
    expect(events.filter(({ type }) => type === "unit_finished")).toHaveLength(50);
    expect(events.filter((event) => event.type === "warning")).toMatchObject([{ message: warning }]);
    expect(events.at(-1)).toMatchObject({ type: "run_finished", run: { status: "completed", warnings: [warning] } });
  });

  test("a listener that throws at the end is in the summary, too", async () => {
    const summary = await run({
      data: numbers(1),
      target: echo,
      onEvent: ({ type }) => {
        if (type === "run_finished") throw new Error("broken pipe");
      },
    });
    expect(summary.warnings).toEqual(["the event listener failed on run_finished: broken pipe"]);
  });
});
