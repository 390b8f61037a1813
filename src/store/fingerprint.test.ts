import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fingerprintOf } from "./fingerprint.ts";

function fingerprint(message: string): string {
  return fingerprintOf({ type: "type", phase: null, message });
}

describe("a fingerprint", () => {
  test.each([
    ["exit code 2", "exit code 137"],
    ["took longer than 600 s", "took longer than 1,200.5 s"],
    ["at 10:30:00", "at 9:05"],
    ['cannot find "a b.txt"', 'cannot find "/tmp/c"'],
    ["can't open 'x'", "can't open 'it'"],
    ["no such image `a:1`", "no such image `b`"],
    ["no such image “a”", "no such image “it's”"],
    ["no such image ‘a’", "no such image ‘b c’"],
    ["no such image «a»", "no such image «b»"],
    ["container 3f2a9bc1d0e4 is gone", "container 9bc1d0e4aa12 is gone"],
    ["run 123e4567-e89b-12d3-a456-426614174000 was lost", "run 0f8fad5b-d9cb-469f-a165-70867728950e was lost"],
    ["pointer 0x7ffe12", "pointer 0xdeadbeef"],
    ["\x1b[31mERROR\x1b[0m: failed", "ERROR: failed"],
    ["\n  failed\nbecause of a", "failed\r\nbecause of b"],
    ["\x1b[0m\nfailed", "failed"],
  ])("of %j is the same as of %j", (a, b) => {
    expect(fingerprint(a)).toBe(fingerprint(b));
  });

  test.each([
    ["no space left", "no such file"],
    ["the agents' logs can't be read", "the agents' logs won't be read"],
    ["a feedface of beef", "a facade of beef"],
    ["", "x"],
  ])("of %j differs from that of %j", (a, b) => {
    expect(fingerprint(a)).not.toBe(fingerprint(b));
  });

  test("is one short line without numbers, whatever the message", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (message) => {
        const text = fingerprint(message);
        expect(text).not.toMatch(/[\r\n0-9\x1b]/);
        expect(text.length).toBeLessThanOrEqual(200);
      }),
    );
  });

  test("does not depend on the numbers and the quoted texts of a message", () => {
    const word = fc.stringMatching(/^[a-z ]{0,20}$/);
    const text = fc.stringMatching(/^[^"\r\n\x1b]{0,40}$/);
    fc.assert(
      fc.property(word, word, fc.nat(), fc.nat(), text, text, (before, after, a, b, one, other) => {
        expect(fingerprint(`${before} ${a} "${one}" ${after}`)).toBe(fingerprint(`${before} ${b} "${other}" ${after}`));
      }),
    );
  });
});
