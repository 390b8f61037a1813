import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { causeOf } from "./failure-cause.ts";

describe("causeOf", () => {
  test.each([
    ["exit code 2", "exit code 137"],
    ["took longer than 600 s", "took longer than 1,200.5 s"],
    ['cannot find "a b.txt"', 'cannot find "/tmp/c"'],
    ["can't open 'x'", "can't open 'it'"],
    ["no such image `a:1`", "no such image `b`"],
    ["container 3f2a9bc1d0e4 is gone", "container 9bc1d0e4aa12 is gone"],
    ["run 123e4567-e89b-12d3-a456-426614174000 was lost", "run 0f8fad5b-d9cb-469f-a165-70867728950e was lost"],
    ["pointer 0x7ffe12", "pointer 0xdeadbeef"],
    ["\x1b[31mERROR\x1b[0m: failed", "ERROR: failed"],
    ["\n  failed\nbecause of a", "failed\r\nbecause of b"],
  ])("%j and %j have the same cause", (a, b) => {
    expect(causeOf(a)).toBe(causeOf(b));
  });

  test.each([
    ["no space left", "no such file"],
    ["the agents' logs can't be read", "the agents' logs won't be read"],
    ["a feedface of beef", "a facade of beef"],
    ["", "x"],
  ])("%j and %j have different causes", (a, b) => {
    expect(causeOf(a)).not.toBe(causeOf(b));
  });

  test("is one short line without numbers, whatever the message", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (message) => {
        const cause = causeOf(message);
        expect(cause).not.toMatch(/[\r\n0-9\x1b]/);
        expect(cause.length).toBeLessThanOrEqual(200);
      }),
    );
  });

  test("does not depend on which number or which quoted text stands in a message", () => {
    const word = fc.stringMatching(/^[a-z ]{0,20}$/);
    const text = fc.stringMatching(/^[^"\r\n\x1b]{0,40}$/);
    fc.assert(
      fc.property(word, word, fc.nat(), fc.nat(), text, text, (before, after, a, b, one, other) => {
        expect(causeOf(`${before} ${a} "${one}" ${after}`)).toBe(causeOf(`${before} ${b} "${other}" ${after}`));
      }),
    );
  });
});
