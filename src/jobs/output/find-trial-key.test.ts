import { expect, test } from "vitest";
import { findTrialKey } from "./find-trial-key.ts";

const keys = ["a/set/one__1", "a/set/one__2", "a/set/two__1", "b/set/three__1", "b/set/two__12", "a/set/twofold__1"];

test.each([
  ["a/set/one__2", "a/set/one__2"],
  ["one__2", "a/set/one__2"],
  ["set/three__1/", "b/set/three__1"],
  ["three", "b/set/three__1"],
  ["twofold", "a/set/twofold__1"],
  ["hree", "b/set/three__1"],
  ["two__12", "b/set/two__12"],
])("%s is %s", (word, key) => {
  expect(findTrialKey(keys, word)).toBe(key);
});

test("several candidates are listed", () => {
  expect(() => findTrialKey(keys, "one")).toThrow(
    expect.objectContaining({ code: "usage_invalid", hint: "name one of them: a/set/one__1, a/set/one__2" }),
  );
  expect(() => findTrialKey(keys, "b")).toThrow(expect.objectContaining({ code: "usage_invalid" }));
});

test("a word that matches nothing is answered with the trials there are, but not with thousands", () => {
  const many = Array.from({ length: 1000 }, (_, n) => `a/set/task-${n}__1`);
  expect(() => findTrialKey(many, "nothing")).toThrow(
    expect.objectContaining({ code: "not_found", hint: expect.stringMatching(/task-9__1, and 990 more$/) }),
  );
  expect(() => findTrialKey(keys, "/")).toThrow(expect.objectContaining({ code: "not_found" }));
});
