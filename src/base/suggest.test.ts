import { describe, expect, test } from "vitest";
import { describeUnknown, suggest } from "./suggest.ts";

const known = ["name", "description", "install", "execute", "env", "n_concurrent"];

describe("suggest", () => {
  test.each([
    ["exceute", "execute"],
    ["EXECUTE", "execute"],
    ["instal", "install"],
    ["nmae", "name"],
    ["n_concurent", "n_concurrent"],
    ["envs", "env"],
    ["discription", "description"],
  ])("%s was meant to be %s", (word, expected) => {
    expect(suggest(word, known)).toBe(expected);
  });

  test.each(["", "banana", "timeout", "xyz"])("nothing is near %j", (word) => {
    expect(suggest(word, known)).toBeUndefined();
  });

  test("a word of one letter is near to none of another letter", () => {
    expect(suggest("a", ["b", "c"])).toBeUndefined();
    expect(suggest("a", ["b", "as"])).toBe("as");
  });

  test("the nearest of several is taken", () => {
    expect(suggest("max_timeout", ["min_timeout_sec", "max_timeout_sec", "max_timeouts"])).toBe("max_timeouts");
  });

  test("a known word is its own suggestion", () => {
    for (const word of known) expect(suggest(word, known)).toBe(word);
  });
});

describe("describeUnknown", () => {
  test("names the near word", () => {
    expect(describeUnknown("key", "exceute", known)).toBe('unknown key; did you mean "execute"?');
  });

  test("lists what is known when nothing is near", () => {
    expect(describeUnknown("agent", "banana", ["oracle", "nop"])).toBe("unknown agent; known: oracle, nop");
  });

  test("says no more than that when nothing is known", () => {
    expect(describeUnknown("key", "banana", [])).toBe("unknown key");
  });
});
