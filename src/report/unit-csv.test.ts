import { expect, test } from "vitest";
import { csvHeading, csvLine } from "./unit-csv.ts";
import { sampleUnit } from "./testing/sample-run.ts";
import type { Unit } from "../store/run.ts";

const columns = { labels: ["agent", "attempt"], scores: ["reward", "style"] };

function cellsOf(unit: Partial<Unit>): Record<string, string> {
  const titles = csvHeading(columns).trimEnd().split(",");
  const cells = csvLine({ ...sampleUnit({}), ...unit }, columns)
    .trimEnd()
    .split(",");
  return Object.fromEntries(titles.map((title, at) => [title, cells[at] ?? ""]));
}

test("has a column for every label and every score of the run", () => {
  const cells = cellsOf({
    labels: { agent: "a", attempt: "2" },
    scores: [
      { name: "reward", value: 0.5 },
      { name: "style", value: null },
    ],
  });
  expect(cells).toMatchObject({ "label.agent": "a", "label.attempt": "2", "score.reward": "0.5", "score.style": "" });
  expect(csvLine(sampleUnit({}), columns)).toMatch(/\r\n$/);
});

test.for([
  ["=1+1", "'=1+1"],
  ["+1", "'+1"],
  ["-1", "'-1"],
  ["@x", "'@x"],
  ["\t=1", "' =1"],
  [" =1", "' =1"],
  ["\u001b[2Jred\u0007", "red"],
  ['say "x"', '"say ""x"""'],
  ["a\nb", '"a\nb"'],
] as const)("writes %j as %j", ([output, cell]) => {
  expect(cellsOf({ output })["output"]).toBe(cell);
});
