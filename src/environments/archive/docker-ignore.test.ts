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
