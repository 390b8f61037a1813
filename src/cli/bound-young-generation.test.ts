import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";

// Keeps some of what it makes for a while, as every run does, and tells how much room V8 gives to new objects.
const program = (begin: string): string => `
import { setTimeout } from "node:timers/promises";
import { getHeapSpaceStatistics } from "node:v8";
import { systemClock } from "./src/base/clock.ts";
import { boundYoungGeneration } from "./src/cli/bound-young-generation.ts";
const bound = ${begin};
const young = () => getHeapSpaceStatistics().find((space) => space.space_name === "new_space").space_size;
let most = 0;
for (let kept = [], n = 0; n < 20_000_000; n++) {
  if (kept.push({ n, list: [n] }) > 20_000) kept = [];
  if (n % 100_000 === 0) await setTimeout(1);
  if (n % 100_000 === 0) most = Math.max(most, young());
}
bound?.[Symbol.dispose]();
console.log(most / 2 ** 20);
`;

test("the room for new objects stays small however long a run is", () => {
  const most = (begin: string): number =>
    Number(execFileSync(process.execPath, ["--input-type=module", "--eval", program(begin)], { encoding: "utf8" }));
  expect(most("null")).toBeGreaterThan(32);
  expect(most("boundYoungGeneration(systemClock)")).toBeLessThanOrEqual(32);
}, 120_000);
