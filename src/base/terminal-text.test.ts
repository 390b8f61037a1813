import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { displayWidth, fitMiddle, fitWidth, padEnd, padStart, plainText } from "./terminal-text.ts";

const pieces = fc.oneof(
  fc.constantFrom(
    "\x1b[31m",
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\x1bP1$r\x1b\\",
    "\x9b1A",
    "\x1b",
    "\x07",
    "\r",
    "\n",
    "\x1bc",
  ),
  fc.constantFrom("\u202e", "\u2066", "日本", "é", "👩‍👩‍👧", "🇩🇪", "\u0301", "\ud83d", "\x9d", "\x00"),
  fc.string({ unit: "binary", maxLength: 5 }),
  fc.string({ unit: "grapheme", maxLength: 5 }),
);
const hostile = fc.array(pieces, { maxLength: 12 }).map((list) => list.join(""));

describe("plainText", () => {
  test.each([
    ["colours", "\x1b[1;31mred\x1b[0m", "red"],
    ["cursor movement and clearing", "a\x1b[2J\x1b[10Ab", "ab"],
    ["a window title", "\x1b]0;pwned\x07after", "after"],
    ["a hyperlink", "\x1b]8;;https://x.test\x1b\\link\x1b]8;;\x1b\\", "link"],
    ["a device control string", "\x1bP1;2|payload\x1b\\after", "after"],
    ["a string that never ends", "before\x1b]52;c;c2VjcmV0", "before"],
    ["a reset", "a\x1bcb", "ab"],
    ["a character set", "a\x1b(0b", "ab"],
    ["a one-byte CSI", "a\x9b31mb", "ab"],
    ["an escape inside an escape", "\x1b\x1b[31m[31mx", "[31mx"],
    ["bells, backspaces and nulls", "a\x07\b\0b\x7f", "ab"],
    ["right-to-left overrides", "exe.\u202etxt\u2066", "exe.txt"],
    ["invisible characters", "a\u200bb\ufeff\u{e0041}", "ab"],
  ])("takes %s out", (_, text, expected) => {
    expect(plainText(text)).toBe(expected);
  });

  test("turns line ends, tabs and the indentation that follows them into one space", () => {
    expect(plainText("one\r\n\t  two\u2028three")).toBe("one two three");
  });

  test("keeps letters of every script and emoji that are joined", () => {
    expect(plainText("naïve 日本語 عربى 👩‍👩‍👧")).toBe("naïve 日本語 عربى 👩‍👩‍👧");
  });

  test("does not swallow text behind a stray byte of a wrong encoding", () => {
    expect(plainText("â\x80\x9dquoted text stays")).toBe("âquoted text stays");
  });

  test("leaves no control character, whatever comes in, and is stable", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const plain = plainText(text);
        expect(plain).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029]/);
        expect(plain.isWellFormed()).toBe(true);
        expect(plainText(plain)).toBe(plain);
      }),
    );
  });

  test("takes a million openings of strings that never end without getting stuck", () => {
    expect(plainText("\x1b]".repeat(500_000))).toBe("");
    expect(plainText("\x9d".repeat(1_000_000))).toBe("");
    expect(plainText(`\x9b${"1".repeat(1_000_000)}`)).toHaveLength(1_000_000);
  });
});

describe("displayWidth", () => {
  test.each([
    ["", 0],
    ["abc", 3],
    ["é", 1],
    ["e\u0301", 1],
    ["日本", 4],
    ["한국", 4],
    ["ＡＢ", 4],
    ["👍", 2],
    ["👍🏽", 2],
    ["👩‍👩‍👧", 2],
    ["🇩🇪", 2],
    ["1️⃣", 2],
    ["✓", 1],
    ["─━●", 3],
    ["ไทย", 3],
  ])("of %j is %i", (text, width) => {
    expect(displayWidth(text)).toBe(width);
  });
});

describe("fitWidth", () => {
  test("leaves what fits alone", () => {
    expect(fitWidth("abc", 3)).toBe("abc");
    expect(fitWidth("日本", 4)).toBe("日本");
  });

  test("cuts by columns, never through a character", () => {
    expect(fitWidth("abcdef", 4)).toBe("abc…");
    expect(fitWidth("日本語", 4)).toBe("日…");
    expect(fitWidth("日本語", 5)).toBe("日本…");
    expect(fitWidth("👩‍👩‍👧👩‍👩‍👧", 3)).toBe("👩‍👩‍👧…");
  });

  test("fits into one column and into none", () => {
    expect(fitWidth("abc", 1)).toBe("…");
    expect(fitWidth("日", 1)).toBe("…");
    expect(fitWidth("abc", 0)).toBe("");
  });

  test("never exceeds its columns", () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 0, max: 20 }), (text, columns) => {
        expect(displayWidth(fitWidth(plainText(text), columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

describe("fitMiddle", () => {
  test("keeps the start and the end", () => {
    expect(fitMiddle("claude-code chess", 9)).toBe("clau…hess");
    expect(fitMiddle("日本語日本語", 8)).toBe("日…本語");
    expect(fitMiddle("short", 5)).toBe("short");
    expect(fitMiddle("abcdef", 3)).toBe("ab…");
  });

  test("never exceeds its columns", () => {
    fc.assert(
      fc.property(hostile, fc.integer({ min: 0, max: 20 }), (text, columns) => {
        expect(displayWidth(fitMiddle(plainText(text), columns))).toBeLessThanOrEqual(columns);
      }),
    );
  });
});

describe("padding", () => {
  test("fills up to a width in columns on either side", () => {
    expect(padEnd("日", 4)).toBe("日  ");
    expect(padStart("日", 4)).toBe("  日");
    expect(padEnd("long", 2)).toBe("long");
  });
});
