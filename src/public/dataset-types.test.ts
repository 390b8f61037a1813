import { expect, test } from "vitest";
import { defineEval, runDataset, type FunctionCall, type RunConfig } from "./datasets.ts";
import { exact } from "./scorers.ts";

const data = [
  { id: "a", input: 1, expectedOutput: 2 },
  { id: "b", input: 2, expectedOutput: 4 },
];
const double = (n: number): number => 2 * n;

test("targets and scorers that say what they take compile, and run", async () => {
  const summary = await runDataset({
    data,
    target: double,
    scorers: [
      exact(),
      function right({ output, groundTruth }: { output: number; groundTruth: number }) {
        return output === groundTruth;
      },
      function small({ output }) {
        return { score: output < 10 ? 1 : 0, reason: null };
      },
    ],
  });
  expect(summary.scorers.map(({ mean }) => mean)).toEqual([1, 1, 1]);
});

test("what cannot be is an error of types", () => {
  defineEval({ data, target: double });
  defineEval({ data: () => Promise.resolve(data), target: (n) => n.toFixed(1) });
  defineEval({ data: [{ input: 1 }, { input: "one" }], target: (input: number | string) => input });
  defineEval({ data, target: (input: unknown, { signal }: FunctionCall) => [input, signal] });
  defineEval({ datasetId: "stored", target: (text: string) => text.length });
  defineEval({ data, targetType: "agent", targetId: "greeter" });
  const loose: RunConfig = { data, target: double };
  expect(loose.data).toBe(data);
  // @ts-expect-error the inputs are numbers
  defineEval({ data, target: (text: string) => text.length });
  // @ts-expect-error there is no target
  defineEval({ data, scorers: [exact()] });
  // @ts-expect-error a score is no text
  defineEval({ data, target: double, scorers: [({ output }) => String(output)] });
});
