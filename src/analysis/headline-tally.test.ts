import { expect, test } from "vitest";
import { HeadlineTally } from "./headline-tally.ts";
import { summarizeMarks } from "./summarize-marks.ts";

test("counts failures as not passed and leaves excluded attempts out", () => {
  const tally = new HeadlineTally(1, 1);
  tally.add("a", { value: 1 });
  tally.add("b", { value: 0 });
  tally.add("c", "missed");
  tally.add("d", "excluded");
  const { headline } = summarizeMarks(
    [
      { item: "a", values: [1] },
      { item: "b", values: [0] },
      { item: "c", values: [], missed: 1 },
    ],
    1,
  );
  const { rate, ...rest } = headline;
  expect(tally.summarize()).toEqual({ measure: "pass_rate", value: rate, ...rest });
});

test("treats the repeats of an item as one cluster, also before the last of them", () => {
  const tally = new HeadlineTally(1, 2);
  for (const [item, value] of [
    ["a", 1],
    ["b", 0],
    ["a", 0],
    ["b", 0],
    ["c", 1],
  ] as const)
    tally.add(item, { value });
  const { headline } = summarizeMarks(
    [
      { item: "a", values: [1, 0] },
      { item: "b", values: [0, 0] },
      { item: "c", values: [1] },
    ],
    1,
  );
  const { rate, ...rest } = headline;
  expect(tally.summarize()).toMatchObject({ value: rate, passed: rest.passed, counted: rest.counted });
  expect(tally.summarize().interval?.low).toBeCloseTo(rest.interval?.low ?? -1, 9);
  expect(tally.summarize().interval?.high).toBeCloseTo(rest.interval?.high ?? -1, 9);
});

test("reports the mean of a graded score", () => {
  const tally = new HeadlineTally(0.5, 1);
  tally.add("a", { value: 0.25 });
  tally.add("b", { value: 0.75 });
  tally.add("c", "missed");
  expect(tally.summarize()).toMatchObject({ measure: "mean", value: 0.5, passed: 1, counted: 3 });
});

test("has no value without an attempt", () => {
  expect(new HeadlineTally(1, 1).summarize()).toEqual({
    measure: "pass_rate",
    value: null,
    interval: null,
    passed: 0,
    counted: 0,
  });
});
