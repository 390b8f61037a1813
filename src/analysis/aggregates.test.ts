import { describe, expect, test } from "vitest";
import { max, mean, min, sum } from "./aggregates.ts";

describe("aggregates", () => {
  test("are null when there are no values", () => {
    expect([sum([]), mean([]), min([]), max([])]).toEqual([null, null, null, null]);
  });

  test("of a few values are what they say", () => {
    expect([sum([3, 1, 2]), mean([3, 1, 2]), min([3, 1, 2]), max([3, 1, 2])]).toEqual([6, 2, 1, 3]);
  });

  test("a sum keeps what single additions would round away", () => {
    expect(sum(Array.from({ length: 10 }, () => 0.1))).toBe(1);
    expect(sum([1, 1e100, 1, -1e100])).toBe(2);
  });

  test("take more values than a call may have arguments", () => {
    const many = Array.from({ length: 300_000 }, (_, index) => index);
    expect([min(many), max(many)]).toEqual([0, 299_999]);
  });
});
