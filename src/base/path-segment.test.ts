import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toPathSegment } from "./path-segment.ts";

const nasty = fc.oneof(
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.string({ unit: "grapheme", maxLength: 300 }),
  fc.string({ unit: fc.constantFrom("🔑", "é", "a", "/", ".", " ", "\ud83d", "日"), maxLength: 200 }),
  fc.constantFrom("", ".", "..", "...", " ", "/", "\0", "a/../b", "C:\\x"),
);

describe("toPathSegment", () => {
  test.each([
    ["claude-code", "claude-code"],
    ["Claude Code", "Claude Code"],
    ["openai/gpt-5", "openai_gpt-5"],
    ['a\\b:c*d?e"f<g>h|i', "a_b_c_d_e_f_g_h_i"],
    ["tab\tnew\nline\u007f", "tab_new_line_"],
    ["", "_"],
    [".", "_"],
    ["..", "_"],
    ["...", "_"],
    ["   ", "_"],
    ["name. ", "name_"],
    ["v1.0", "v1.0"],
    ["cafe\u0301", "caf\u00e9"],
    ["half\ud83d", "half\ufffd"],
    ["日本", "日本"],
  ])("makes %j into %j", (name, expected) => {
    expect(toPathSegment(name)).toBe(expected);
  });

  test("whatever the name, the result is one usable segment", () => {
    fc.assert(
      fc.property(nasty, (name) => {
        const segment = toPathSegment(name);
        expect(segment).not.toBe("");
        expect(segment).not.toMatch(/^\.{1,2}$/);
        expect(segment).not.toMatch(/[/\\\0\n]/);
        expect(segment.isWellFormed()).toBe(true);
        expect(Buffer.byteLength(segment)).toBeLessThanOrEqual(200);
      }),
      { numRuns: 500 },
    );
  });

  test("a name that fits is left at its length, and one byte more is cut", () => {
    expect(toPathSegment("a".repeat(200))).toBe("a".repeat(200));
    expect(toPathSegment("a".repeat(201))).toMatch(/^a{191}-[0-9a-f]{8}$/);
  });

  test("a long name is never cut inside a character", () => {
    for (let shift = 0; shift < 4; shift++) {
      expect(toPathSegment("x".repeat(shift) + "🔑".repeat(100))).toMatch(/^x*(?:🔑)+-[0-9a-f]{8}$/u);
    }
  });

  test("long names that differ only at the end stay distinct", () => {
    const segments = Array.from({ length: 200 }, (_, n) => toPathSegment(`${"long-name-".repeat(40)}${n}`));
    expect(new Set(segments).size).toBe(200);
  });

  test("a name of a million characters is no work", () => {
    expect(toPathSegment("é".repeat(1_000_000))).toMatch(/^é{95}-[0-9a-f]{8}$/);
  });
});
