import * as fc from "fast-check";
import { posix } from "node:path";
import { expect, test } from "vitest";
import { checkLinkTarget, checkTreePath } from "./tree-path.ts";

test("a path inside the tree is cut into its components", () => {
  expect(checkTreePath("./a//b/c.txt/")).toEqual({ parts: ["a", "b", "c.txt"] });
  expect(checkTreePath("")).toEqual({ parts: [] });
  expect(checkTreePath("..dots/...")).toEqual({ parts: ["..dots", "..."] });
});

test("paths that are absolute, climb, hold a NUL or are endless are refused", () => {
  for (const path of ["/etc/passwd", "../x", "a/../../x", "a/..", "..", "a\0b", "a/".repeat(3000)]) {
    expect(checkTreePath(path).refusal, JSON.stringify(path)).toBeTypeOf("string");
  }
});

test("a link may climb exactly as far as it lies deep", () => {
  expect(checkLinkTarget("..", 1)).toBeNull();
  expect(checkLinkTarget("../../a/b", 2)).toBeNull();
  expect(checkLinkTarget("../../a", 1)).toBeTypeOf("string");
  expect(checkLinkTarget("./name", 0)).toBeNull();
});

test("a link that climbs behind a name is refused, because the name may be a link", () => {
  expect(checkLinkTarget("a/../b", 3)).toMatch(/another link/);
});

test("absolute and empty targets are refused", () => {
  expect(checkLinkTarget("/etc", 5)).toMatch(/absolute/);
  expect(checkLinkTarget("", 5)).toBeTypeOf("string");
});

test("an accepted path never resolves to a place outside of its tree", () => {
  const part = fc.constantFrom("..", ".", "", "a", "b", "...", "/", "a\0");
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
      const { parts: accepted } = checkTreePath(parts.join("/"));
      if (accepted) expect(posix.resolve("/root/tree", ...accepted).startsWith("/root/tree")).toBe(true);
    }),
  );
});
