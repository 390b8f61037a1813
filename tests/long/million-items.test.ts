import { expect, test } from "vitest";
import type { LongOutcome } from "../../bench/datasets/long-run.ts";
import { runCompiled } from "../../bench/datasets/run-compiled.ts";

const items = 1_000_000;

test("a million items of a stored dataset run in memory that does not grow, and every result is in the store", async () => {
  const outcome = await runCompiled<LongOutcome>("long-run", { items, scorers: 1, store: "file", inFlight: 5 });
  const megabytes = outcome.windowBytes.map((bytes) => bytes / 1e6);
  const speed = `${((items / outcome.wallMs) * 1000).toFixed(0)} items/s, ${((outcome.cpuMs * 1000) / items).toFixed(0)} µs CPU each`;
  console.log(`${speed}; RSS in twentieths, MB: ${megabytes.map((each) => each.toFixed(0)).join(" ")}`);
  expect(outcome).toMatchObject({ status: "completed", results: items, scores: items });
  expect(Math.max(...megabytes)).toBeLessThan(250);
  // The heap finds its size in the first half of the run.
  expect(Math.max(...megabytes.slice(-5)) - Math.max(...megabytes.slice(0, 10))).toBeLessThan(20);
});
