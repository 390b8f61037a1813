import { expect, test } from "vitest";
import { parseDockerIgnore } from "./docker-ignore.ts";

test("patterns match names, directories and what they hold; exceptions bring back", () => {
  const isIgnored = parseDockerIgnore("# comment\n*.log\n/build/\n**/cache\ndocs/*\n!docs/keep.md\n");
  const paths = [
    "a.log",
    "sub/a.log",
    "build",
    "build/x/y",
    "sub/build",
    "x/cache/z",
    "cache",
    "docs/a",
    "docs/keep.md",
  ];
  expect(paths.filter(isIgnored)).toEqual(["a.log", "build", "build/x/y", "x/cache/z", "cache", "docs/a"]);
});

test("dots and brackets mean themselves", () => {
  const isIgnored = parseDockerIgnore("a.b\nx(1)\n");
  expect(["a.b", "aXb", "x(1)"].map(isIgnored)).toEqual([true, false, true]);
});

test("classes and escapes are those of the engine", () => {
  const isIgnored = parseDockerIgnore("[^k]*.txt\n[a-c]1\n\\*star\nx[\\]]\n");
  const paths = ["drop.txt", "kept.txt", "b1", "d1", "*star", "mystar", "x]"];
  expect(paths.filter(isIgnored)).toEqual(["drop.txt", "b1", "*star", "x]"]);
});

test.each(["a[", "[z-a]", "a\\", "[]"])("%j is no pattern, as for the engine", (pattern) => {
  expect(() => parseDockerIgnore(`${pattern}\n`)).toThrow("which is no pattern");
});
