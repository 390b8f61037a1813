import { expect, test } from "vitest";
import { sampleFailedUnit, sampleUnit } from "./conformance/sample-run.ts";
import { pageRows } from "./page-rows.ts";
import { readAll } from "./read-all.ts";
import type { UnitRow } from "./run.ts";
import { unitOrders } from "./run-source.ts";
import { parseFilter } from "./filter.ts";
import { toUnitRow } from "./unit-row.ts";

const rows = Array.from({ length: 2_500 }, (_, n) =>
  toUnitRow(n % 3 === 0 ? sampleFailedUnit(n * 2) : sampleUnit(n * 2, { spendUsd: n % 7, durationSec: n % 11 })),
);

test.each(unitOrders.flatMap((by) => [false, true].map((isDescending) => ({ by, isDescending }))))(
  "pages of $by (descending: $isDescending) contain every row once",
  async (sort) => {
    const filter = parseFilter("index>=10 -key:*task-20__1");
    const all = await readAll<UnitRow, string>(async (after) =>
      pageRows(rows, { sort, filter, page: { after, limit: 101 } }, "reward"),
    );
    const once = pageRows(rows, { sort, filter, page: { after: null, limit: 5_000 } }, "reward");
    expect(all).toEqual(once.entries);
    expect(new Set(all).size).toBe(2_494);
    expect(once.next).toBeNull();
  },
);

test("sorts by the first score if the run names none", () => {
  const two = [
    toUnitRow(sampleUnit(0, { scores: [{ name: "a", value: 2 }] })),
    toUnitRow(sampleUnit(1, { scores: [{ name: "b", value: 1 }] })),
  ];
  const { entries } = pageRows(two, { sort: { by: "score" }, page: { after: null, limit: 5 } }, "");
  expect(entries.map(({ index }) => index)).toEqual([1, 0]);
});

test("an index that is gone still marks a place", () => {
  const { next } = pageRows(rows, { page: { after: null, limit: 3 } }, "reward");
  const left = rows.filter(({ index }) => index !== 4);
  expect(pageRows(left, { page: { after: next, limit: 1 } }, "reward").entries[0]?.index).toBe(6);
  expect(pageRows([], { page: { after: next, limit: 1 } }, "reward")).toEqual({ entries: [], next: null });
});
