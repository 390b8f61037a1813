import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { comparePlaces, formatPath, formatProblem, positionAt, type Problem } from "./problem.ts";

describe("formatProblem", () => {
  const problem: Problem = {
    file: "job.yaml",
    line: 12,
    column: 5,
    path: "agents[1].exceute",
    message: 'unknown key; did you mean "execute"?',
    severity: "error",
  };

  test.each<[string, Problem, string]>([
    ["place, path and message", problem, 'job.yaml:12:5 agents[1].exceute: unknown key; did you mean "execute"?'],
    ["a line without a column as its start", { file: "a", line: 3, message: "m", severity: "error" }, "a:3:1 m"],
    ["a whole file without a line", { file: "a", path: "x", message: "m", severity: "error" }, "a x: m"],
    ["no path at all", { file: "a", line: 1, column: 1, path: "", message: "m", severity: "error" }, "a:1:1 m"],
    ["that it is only a warning", { file: "a", path: "x", message: "m", severity: "warning" }, "a warning: x: m"],
  ])("shows %s", (_, given, expected) => {
    expect(formatProblem(given)).toBe(expected);
  });
});

describe("formatPath", () => {
  test.each<[(string | number)[], string]>([
    [[], ""],
    [["name"], "name"],
    [["agents", 1, "execute"], "agents[1].execute"],
    [["environment", "provider_config", "node-selector"], "environment.provider_config.node-selector"],
    [["provider_config", "kubernetes.io/os"], 'provider_config["kubernetes.io/os"]'],
    [["env", "1ST"], 'env["1ST"]'],
    [["env", ""], 'env[""]'],
    [["a b", "c"], '["a b"].c'],
    [[0, 1], "[0][1]"],
    [['say "hi"'], '["say \\"hi\\""]'],
  ])("writes %j as %s", (path, expected) => {
    expect(formatPath(path)).toBe(expected);
  });

  test("two different paths never look the same", () => {
    const path = fc.array(fc.oneof(fc.nat(3), fc.constantFrom("a", "b", "a.b", "[0]", "0", "a[0]", '"', "")), {
      maxLength: 3,
    });
    fc.assert(
      fc.property(path, path, (a, b) => {
        expect(formatPath(a) === formatPath(b)).toBe(JSON.stringify(a) === JSON.stringify(b));
      }),
    );
  });
});

describe("positionAt", () => {
  test.each([
    ["abc", 0, 1, 1],
    ["abc", 2, 1, 3],
    ["a\nbc", 2, 2, 1],
    ["a\nbc", 1, 1, 2],
    ["a\r\nbc", 3, 2, 1],
    ["\n\n", 2, 3, 1],
  ])("in %j offset %d is line %d, column %d", (text, offset, line, column) => {
    expect(positionAt(text, offset)).toEqual({ line, column });
  });
});

test("problems sort by line, then by column, those of a whole file first", () => {
  const at = (line?: number, column?: number): Problem => ({ file: "f", line, column, message: "", severity: "error" });
  const sorted = [at(2, 1), at(1, 9), at(), at(1, 3)].sort(comparePlaces);
  expect(sorted.map(({ line, column }) => [line, column])).toEqual([
    [undefined, undefined],
    [1, 3],
    [1, 9],
    [2, 1],
  ]);
});
