import fc from "fast-check";
import { expect, test } from "vitest";
import { diffLines } from "./line-diff.ts";

test("only what changed is shown, with a line around it", () => {
  expect(diffLines("a\nb\nc\nd\ne\n", "a\nb\nx\nd\ne\n")).toEqual(["  b", "- c", "+ x", "  d"]);
  expect(diffLines("a\n", "a\nb\n")).toEqual(["  a", "+ b"]);
  expect(diffLines("same\n", "same\n")).toEqual([]);
});

test("what is gone and what is new add up to the difference of the two texts", () => {
  const text = fc.array(fc.constantFrom("a", "b", "c", "d"), { maxLength: 12 });
  fc.assert(
    fc.property(text, text, (a, b) => {
      const lines = diffLines(`${a.join("\n")}\n`, `${b.join("\n")}\n`);
      const count = (list: readonly string[], word: string): number => list.filter((one) => one === word).length;
      for (const word of ["a", "b", "c", "d"]) {
        const change = count(lines, `+ ${word}`) - count(lines, `- ${word}`);
        expect(change).toBe(count(b, word) - count(a, word));
      }
    }),
  );
});

test("very long texts are told by their length", () => {
  expect(diffLines("x\n".repeat(1000), "y\n")).toEqual(["- 1000 lines", "+ 1 lines"]);
});
