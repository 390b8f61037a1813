import { expect, test } from "vitest";
import { PreparedOnce } from "./prepared-once.ts";

const never = new AbortController().signal;

test("all who ask get what was prepared for the first", async () => {
  let count = 0;
  const ground = new PreparedOnce(async () => ++count);
  expect(await ground.peek()).toBeNull();
  expect(await Promise.all([ground.get(never), ground.get(never)])).toEqual([1, 1]);
  expect(await ground.get(never)).toBe(1);
  expect(await ground.peek()).toBe(1);
});

test("a failure is for those who waited, and the next one tries again", async () => {
  let count = 0;
  const ground = new PreparedOnce(async () => {
    if (++count === 1) throw new Error("not yet");
    return count;
  });
  const waiting = [ground.get(never), ground.get(never)];
  for (const outcome of waiting) await expect(outcome).rejects.toThrow("not yet");
  expect(await ground.peek()).toBeNull();
  expect(await ground.get(never)).toBe(2);
});
