import { expect, test } from "vitest";
import type { Placement } from "../environment.ts";
import { planPlacements } from "./plan-placements.ts";

const file = (target: string): Placement => ({ kind: "file", content: "", target, mode: 0o644 });
const mountPoints = new Set(["/tests"]);

test("placements that do not touch each other are made together", () => {
  const [group, ...rest] = planPlacements([file("/a/x"), file("/b/y/"), { kind: "remove", target: "/c" }], mountPoints);
  expect(rest).toEqual([]);
  expect(group).toMatchObject({ emptied: [], removed: ["/a/x", "/b/y", "/c"], parents: ["/a", "/b"] });
  expect(group?.items.map((item) => item.target)).toEqual(["/a/x", "/b/y"]);
});

test("what lies in, above or at another one's target comes later", () => {
  const groups = planPlacements(
    [file("/a/x"), { kind: "remove", target: "/a" }, file("/a/y"), file("/ab")],
    mountPoints,
  );
  expect(groups.map((group) => group.removed)).toEqual([["/a/x"], ["/a"], ["/a/y", "/ab"]]);
});

test("a mount point is emptied instead of removed", () => {
  const [group] = planPlacements([{ kind: "tree", source: "/host", target: "/tests/" }, file("/tested")], mountPoints);
  expect(group).toMatchObject({ emptied: ["/tests"], removed: ["/tested"], parents: [] });
});

test("the root and relative paths are refused", () => {
  for (const target of ["/", "//", "relative", "/.."]) {
    expect(() => planPlacements([file(target)], mountPoints)).toThrow(/nothing can be placed/);
  }
});
