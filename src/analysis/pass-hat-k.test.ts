import { describe, expect, test } from "vitest";
import { passHatK } from "./pass-hat-k.ts";

describe("passHatK", () => {
  test.each([
    [5, 2, 2, 0.1],
    [8, 5, 4, 0.071429],
    [10, 3, 5, 0],
    [10, 3, 1, 0.3],
    [4, 4, 4, 1],
  ])("of n=%i, c=%i, k=%i is %f", (n, c, k, expected) => {
    expect(passHatK(n, c, k)).toBeCloseTo(expected, 6);
  });

  test("is undefined with fewer attempts than k", () => {
    expect(passHatK(3, 0, 4)).toBeUndefined();
  });
});
