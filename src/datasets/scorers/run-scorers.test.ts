import { describe, expect, test } from "vitest";
import type { RunConfig } from "../run-config.ts";
import { runDataset } from "../run-dataset.ts";
import type { RunSummary } from "../summary.ts";
import { numbers, testGround } from "../testing/test-ground.ts";

const echo = async (input: unknown): Promise<unknown> => input;

function run(config: Partial<RunConfig>): Promise<RunSummary> {
  return runDataset({ data: numbers(3), target: echo, ...config }, testGround());
}

function scores(summary: RunSummary): (number | null)[][] {
  return summary.results.map((item) => item.scores.map(({ score }) => score));
}

describe("scorers", () => {
  test("see input, output and ground truth, and what else is known", async () => {
    const seen: unknown[] = [];
    const spy = {
      id: "spy",
      run: (given: object) => {
        seen.push(given);
        return { score: 0.5, reason: "so so", metadata: { k: 1 } };
      },
    };
    const summary = await run({
      data: [{ id: "a", input: "q", expectedOutput: "r", metadata: { m: 1 } }],
      scorers: [spy],
    });
    expect(seen[0]).toMatchObject({
      input: "q",
      output: "q",
      groundTruth: "r",
      itemId: "a",
      metadata: { m: 1 },
      error: null,
    });
    expect(summary.results[0]?.scores).toEqual([
      { scorerId: "spy", scorerName: "spy", score: 0.5, reason: "so so", error: null, metadata: { k: 1 } },
    ]);
  });

  test("see what the target wants them to see", async () => {
    const target = { generate: async () => ({ text: "x", scoringData: { input: "si", output: "so" } }) };
    const summary = await run({
      target,
      scorers: [
        function joined({ input, output }) {
          return { score: 1, reason: `${String(input)} ${String(output)}` };
        },
      ],
    });
    expect(summary.results[0]?.scores[0]?.reason).toBe("si so");
  });

  test("run at the same time", async () => {
    let running = 0;
    let most = 0;
    const slow = (id: string) => ({
      id,
      run: async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return { score: 1 };
      },
    });
    await run({ scorers: [slow("a"), slow("b"), slow("c")], maxConcurrency: 1 });
    expect(most).toBe(3);
  });

  test("one that fails harms no other, and its error is kept", async () => {
    const summary = await run({
      scorers: [
        {
          id: "broken",
          run: () => {
            throw new Error("bad");
          },
        },
        function fine() {
          return 1;
        },
      ],
    });
    expect(summary).toMatchObject({ status: "completed", succeededCount: 3 });
    expect(summary.results[0]?.scores).toMatchObject([
      { scorerId: "broken", score: null, error: "bad" },
      { scorerId: "fine", score: 1, error: null },
    ]);
    expect(summary.scorers).toMatchObject([
      { scorerId: "broken", mean: null, scored: 0, errors: 3 },
      { scorerId: "fine", mean: 1, scored: 3, errors: 0 },
    ]);
  });

  test("a score of true is 1 and one of false is 0, bare or in an object", async () => {
    const scorers = [
      { id: "yes", run: () => ({ score: true }) as never },
      { id: "no", run: () => false as never },
    ];
    const summary = await run({ scorers });
    expect(summary.results[0]?.scores).toMatchObject([
      { score: 1, error: null },
      { score: 0, error: null },
    ]);
  });

  test.each([Number.NaN, Number.NEGATIVE_INFINITY, "0.5", undefined])(
    "a score of %s is the scorer's error",
    async (score) => {
      const summary = await run({ scorers: [{ id: "s", run: () => ({ score }) as never }] });
      expect(summary.results[0]?.scores[0]).toMatchObject({ score: null });
      expect(summary.results[0]?.scores[0]?.error).toContain("instead of a finite number or null");
    },
  );

  test("null is a score that was not given, with its reason", async () => {
    const summary = await run({ scorers: [{ id: "s", run: () => ({ score: null, reason: "nothing to see" }) }] });
    expect(summary.results[0]?.scores[0]).toMatchObject({ score: null, reason: "nothing to see", error: null });
    expect(summary.scorers[0]).toMatchObject({ scored: 0, unscored: 3, errors: 0 });
  });

  test("pass over items that failed, unless they are asked about them", async () => {
    const target = (input: number): number => {
      if (input === 1) throw new Error("no");
      return input;
    };
    const scorers = [
      function zero({ error }: { error: string | null }) {
        return error === null ? 1 : 0;
      },
    ];
    expect(scores(await run({ target, scorers }))).toEqual([[1], [null], [1]]);
    expect(scores(await run({ target, scorers, scoreFailed: true }))).toEqual([[1], [0], [1]]);
  });

  test("of the run win over those of items, even an empty list", async () => {
    const data = [{ input: 1, scorerIds: ["own"] }, { input: 2 }];
    const registry = {
      scorers: {
        own: { id: "own", run: () => ({ score: 0.25 }) },
        other: { id: "other", run: () => ({ score: 0.75 }) },
      },
    };
    expect(scores(await run({ data, registry }))).toEqual([[0.25], []]);
    expect(scores(await run({ data, registry, scorers: ["other"] }))).toEqual([[0.75], [0.75]]);
    expect(scores(await run({ data, registry, scorers: [] }))).toEqual([[], []]);
  });

  test("an item that asks for a scorer nobody knows fails alone, without a call of the target", async () => {
    let calls = 0;
    const data = [{ input: 1, scorerIds: ["gone"] }, { input: 2 }];
    const summary = await run({ data, target: () => ++calls, registry: {} });
    expect(calls).toBe(1);
    expect(summary.results.map(({ error }) => error?.includes("gone") ?? false)).toEqual([true, false]);
  });
});

describe("scorers of a whole run", () => {
  const share = {
    id: "share",
    runDataset: async ({ items }: { items: AsyncIterable<{ output: unknown; error: string | null }> }) => {
      let failed = 0;
      let all = 0;
      for await (const { error } of items) {
        all++;
        if (error !== null) failed++;
      }
      return { score: failed / all, reason: `${failed} of ${all}` };
    },
  };

  test("see every item once all are done", async () => {
    const target = (input: number): number => {
      if (input === 0) throw new Error("no");
      return input;
    };
    const summary = await run({ target, scorers: [share] });
    expect(summary.datasetScores).toMatchObject([{ scorerId: "share", score: 1 / 3, reason: "1 of 3", error: null }]);
  });

  test("one that fails costs nothing else", async () => {
    const summary = await run({ scorers: [{ id: "bad", runDataset: () => Promise.reject(new Error("no")) }] });
    expect(summary).toMatchObject({ status: "completed", datasetScores: [{ score: null, error: "no" }] });
  });
});

test("a summary of scores takes the item as its unit, however often it was repeated", async () => {
  const summary = await run({
    data: numbers(4),
    repeats: 5,
    scorers: [
      function even({ output }) {
        return Number(output) % 2 === 0 ? 1 : 0;
      },
    ],
  });
  expect(summary.scorers[0]).toMatchObject({ mean: 0.5, scored: 20, interval: { method: "wilson" } });
  const { low, high } = summary.scorers[0]?.interval ?? { low: 0, high: 0 };
  expect(high - low).toBeGreaterThan(0.6);
});
