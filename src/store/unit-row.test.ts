import { expect, test } from "vitest";
import { sampleFailedUnit, sampleUnit } from "./conformance/sample-run.ts";
import type { Unit } from "./run.ts";
import { toUnit, toUnitRow, toUnitTexts } from "./unit-row.ts";

const bare: Unit = {
  ...sampleUnit(1),
  artifacts: [],
  warnings: [],
  untrusted: [],
  scores: [{ name: "a", value: null }],
};

test.each([
  ["a unit with everything", sampleUnit(0, { warnings: ["w"], untrusted: ["u"] })],
  ["a unit that failed", sampleFailedUnit(2)],
  ["a unit with nothing but scores", bare],
  ["a score with a reason", { ...bare, scores: [{ name: "a", value: 1, reason: "right" }] }],
])("%s is restored from its row and its texts", (_what, unit) => {
  const stored = JSON.parse(JSON.stringify([toUnitRow(unit), toUnitTexts(unit)])) as [
    ReturnType<typeof toUnitRow>,
    ReturnType<typeof toUnitTexts>,
  ];
  expect(toUnit(...stored)).toEqual(JSON.parse(JSON.stringify(unit)));
});

test("texts repeat nothing that the row has", () => {
  expect(Object.keys(JSON.parse(JSON.stringify(toUnitTexts(bare))) as object).sort()).toEqual(
    ["details", "expected", "input", "output"].filter((name) => name in bare).sort(),
  );
});
