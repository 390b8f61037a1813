import { expect, test } from "vitest";
import { freeBytes } from "./free-bytes.ts";

test("bytes that have their memory to themselves are gone at once", () => {
  const bytes = new Uint8Array(1 << 16);
  freeBytes(bytes);
  expect(bytes.length).toBe(0);
  freeBytes(bytes);
});

test("bytes that share their memory stay, and so do their neighbours", () => {
  const whole = new Uint8Array([1, 2, 3, 4]);
  const part = whole.subarray(1, 3);
  freeBytes(part);
  expect([...whole]).toEqual([1, 2, 3, 4]);
});
