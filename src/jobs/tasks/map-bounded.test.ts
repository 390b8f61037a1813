import { expect, test } from "vitest";
import { mapBounded } from "./map-bounded.ts";

test("results keep the order of the items and no more than the limit run at once", async () => {
  let running = 0;
  let most = 0;
  const results = await mapBounded([30, 1, 20, 2, 10], 2, async (ms, index) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve, ms));
    running--;
    return `${index}:${ms}`;
  });
  expect(results).toEqual(["0:30", "1:1", "2:20", "3:2", "4:10"]);
  expect(most).toBe(2);
});

test("after a rejection nothing new starts, and what runs is waited for", async () => {
  const started: number[] = [];
  let ended = 0;
  const mapping = mapBounded([0, 1, 2, 3], 2, async (item) => {
    started.push(item);
    if (item === 0) throw new Error("first");
    await new Promise((resolve) => setTimeout(resolve, 5));
    ended++;
  });
  await expect(mapping).rejects.toThrow("first");
  expect(started).toEqual([0, 1]);
  expect(ended).toBe(1);
});
