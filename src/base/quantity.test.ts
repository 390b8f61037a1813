import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatBytes, parseQuantity } from "./quantity.ts";

describe("parseQuantity", () => {
  test.each([
    ["1", 1],
    ["0.5", 0.5],
    ["500m", 0.5],
    ["100m", 0.1],
    ["1500m", 1.5],
    ["300m", 0.3],
    ["1u", 1e-6],
    ["1n", 1e-9],
    ["1k", 1000],
    ["2G", 2e9],
    ["2Gi", 2 ** 31],
    ["512Mi", 2 ** 29],
    ["0.5Gi", 2 ** 29],
    ["1Ki", 1024],
    ["1Ti", 2 ** 40],
    ["1Pi", 2 ** 50],
    ["1Ei", 2 ** 60],
    ["128974848", 128974848],
    ["129e6", 129e6],
    ["129M", 129e6],
    ["123Mi", 123 * 2 ** 20],
    ["12E6", 12e6],
    ["12E", 12e18],
    ["1e-3", 0.001],
    ["1E+2", 100],
    ["1.", 1],
    [".5", 0.5],
    ["+1", 1],
    ["-1", -1],
    [" 2G ", 2e9],
  ])("reads %j", (text, expected) => {
    expect(parseQuantity(text)).toBe(expected);
  });

  test.each([
    "",
    " ",
    "G",
    "Gi",
    "1K",
    "1ki",
    "1gi",
    "1g",
    "1mi",
    "1GB",
    "1GiB",
    "2 G",
    "1,5",
    "1_000",
    "0x10",
    ".",
    "+",
  ])("refuses %j", (text) => {
    expect(parseQuantity(text)).toBeUndefined();
  });

  test.each(["NaN", "Infinity", "-inf", "1e", "e9", "1e1.5", "1e9Gi", "1Gi1", "--1", "1.2.3", "one", "1e999", "1\n2"])(
    "refuses %j, which is no number at all",
    (text) => {
      expect(parseQuantity(text)).toBeUndefined();
    },
  );

  test("a decimal suffix moves the point and adds no dust", () => {
    const zeros = { k: 3, M: 6, G: 9, T: 12, P: 15 } as const;
    const suffix = fc.constantFrom(...(Object.keys(zeros) as (keyof typeof zeros)[]));
    fc.assert(
      fc.property(fc.nat(999), fc.nat(999), suffix, (whole, thousandths, unit) => {
        const exact = Number(BigInt(whole * 1000 + thousandths) * 10n ** BigInt(zeros[unit] - 3));
        expect(parseQuantity(`${whole}.${String(thousandths).padStart(3, "0")}${unit}`)).toBe(exact);
      }),
    );
  });

  test("any text is either refused or a finite number", () => {
    const parts = fc.constantFrom("1", "0", "9", ".", "-", "+", "e", "E", "k", "K", "i", "m", "G", " ", "x");
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 8 }), (letters) => {
        const value = parseQuantity(letters.join(""));
        expect(value === undefined || Number.isFinite(value)).toBe(true);
      }),
    );
  });
});

describe("formatBytes", () => {
  test.each([
    [0, "0"],
    [1, "1"],
    [1023, "1023"],
    [1024, "1Ki"],
    [1500, "1500"],
    [2e9, "2G"],
    [2 ** 31, "2Gi"],
    [512 * 2 ** 20, "512Mi"],
    [10e9, "10G"],
    [64 * 2 ** 20, "64Mi"],
    [1.5, "1.5"],
  ])("writes %d as %s", (bytes, expected) => {
    expect(formatBytes(bytes)).toBe(expected);
  });

  test("what it writes reads back as the same number", () => {
    const unit = fc.constantFrom(1, 1000, 1024, 1e6, 2 ** 20, 1e9, 2 ** 30, 1e12, 2 ** 40);
    const bytes = fc.oneof(
      fc.nat(Number.MAX_SAFE_INTEGER),
      fc.tuple(fc.integer({ min: 1, max: 20_000 }), unit).map(([n, by]) => n * by),
    );
    fc.assert(
      fc.property(bytes, (value) => {
        expect(parseQuantity(formatBytes(value))).toBe(value);
      }),
    );
  });
});
