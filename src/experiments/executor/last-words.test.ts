import { expect, test } from "vitest";
import { LastWords } from "./last-words.ts";

test("only the end of what was printed is kept, and only what is not older than asked for", () => {
  const words = new LastWords();
  words.add(1, "an old warning\n");
  words.add(5, "now\n  it ");
  words.add(6, "breaks");
  expect(words.since(2)).toBe("now it breaks");
  expect(words.since(7)).toBe("");
  for (let at = 8; at < 5000; at++) words.add(at, `line ${at}\n`);
  expect(words.since(0)).toMatch(/line 4999$/);
  expect(words.since(0).length).toBeLessThanOrEqual(500);
  words.add(6000, "x".repeat(100_000));
  expect(words.since(0)).toBe("x".repeat(500));
});
