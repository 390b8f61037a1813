import * as fc from "fast-check";
import { stringify } from "yaml";
import { describe, expect, test } from "vitest";
import { formatProblem } from "../../base/problem.ts";
import { parseSource } from "./source-document.ts";

function problemsOf(text: string, file = "job.yaml"): string[] {
  return parseSource(text, file).problems.map(formatProblem);
}

describe("a file that is not YAML", () => {
  test.each([
    [
      "a key that stands twice",
      "name: a\nretry:\n  multiplier: 2\n  multiplier: 3\n",
      "job.yaml:4:3 this key is already in the table; keep one of the two",
    ],
    [
      "a second document",
      "name: a\n---\nname: b\n",
      "job.yaml:2:1 a second document starts here; a job file holds one",
    ],
    ["an alias without an anchor", "name: *base\n", "job.yaml:1:7 *base has no anchor &base before it"],
    ["a tab as indentation", "retry:\n\tmultiplier: 2\n", "job.yaml:2:1 Tabs are not allowed as indentation"],
  ])("%s is told at its place", (_, text, expected) => {
    expect(problemsOf(text)).toEqual([expected]);
  });

  test("all of them are told at once", () => {
    expect(problemsOf("a: 1\na: 2\nb: *x\nb: 3\n")).toEqual([
      "job.yaml:2:1 this key is already in the table; keep one of the two",
      "job.yaml:4:1 this key is already in the table; keep one of the two",
      "job.yaml:3:4 *x has no anchor &x before it",
    ]);
  });

  test("aliases that would grow without bound are refused", () => {
    const level = (name: string, of: string): string => `${name}: &${name} [${Array(9).fill(`*${of}`).join(", ")}]\n`;
    const text = `a: &a [1, 2]\n${level("b", "a")}${level("c", "b")}${level("d", "c")}${level("e", "d")}`;
    expect(problemsOf(text)).toHaveLength(1);
  });

  test("JSON with a duplicate key or a missing brace is refused too", () => {
    expect(problemsOf('{\n\t"name": "a",\n\t"name": "b"\n}', "job.json")).toEqual([
      "job.json:3:2 this key is already in the table; keep one of the two",
    ]);
    expect(problemsOf('{"name": "a"', "job.json")).not.toEqual([]);
  });

  test("any text is either a value or has problems, and never throws", () => {
    const piece = fc.constantFrom(
      "a",
      ": ",
      "- ",
      "\n",
      "  ",
      "{",
      "}",
      "[",
      "]",
      '"',
      "'",
      "&x ",
      "*x",
      "<<: ",
      "|\n",
      "#",
      "\t",
      "? ",
      "!!int ",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), (pieces) => {
        const { value, problems } = parseSource(pieces.join(""), "job.yaml");
        expect(problems.length === 0 || value === undefined).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

describe("the value", () => {
  test("is the same from YAML and from JSON, however JSON is indented", () => {
    const value = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 4 });
    fc.assert(
      fc.property(value, fc.constantFrom(undefined, 2, "\t"), (given, indent) => {
        const plain = JSON.parse(JSON.stringify(given)) as unknown;
        expect(parseSource(JSON.stringify(plain, null, indent), "job.json").value).toEqual(plain);
        expect(parseSource(stringify(plain), "job.yaml").value).toEqual(plain);
      }),
    );
  });

  test("has anchors and merge keys filled in, nearer keys winning", () => {
    const text = `
first: &base { name: a, env: { A: 1 } }
second:
  <<: *base
  name: b
third:
  <<: [{ x: 1 }, *base]
fourth: *base
`;
    expect(parseSource(text, "job.yaml").value).toEqual({
      first: { name: "a", env: { A: 1 } },
      second: { name: "b", env: { A: 1 } },
      third: { x: 1, name: "a", env: { A: 1 } },
      fourth: { name: "a", env: { A: 1 } },
    });
  });

  test("of an empty file or one of comments is nothing", () => {
    expect(parseSource("", "job.yaml")).toMatchObject({ value: null, problems: [] });
    expect(parseSource("# only this\n", "job.yaml")).toMatchObject({ value: null, problems: [] });
  });
});

describe("locate", () => {
  const text = `
name: run
agents:
  - &one
    name: a
    env: { A: x, "B": y }
  - <<: *one
    name: b
  - *one
`;
  const { locate } = parseSource(text, "job.yaml");

  test.each<[(string | number)[], "key" | "value", number, number]>([
    [["name"], "key", 2, 1],
    [["name"], "value", 2, 7],
    [["agents"], "value", 4, 3],
    [["agents", 0], "value", 5, 5],
    [["agents", 0, "env", "A"], "key", 6, 12],
    [["agents", 0, "env", "A"], "value", 6, 15],
    [["agents", 0, "env", "B"], "key", 6, 18],
    [["agents", 1, "name"], "value", 8, 11],
    [["agents", 1, "env", "A"], "value", 6, 15],
    [["agents", 2, "name"], "value", 5, 11],
    [["agents", 0, "execute"], "key", 5, 5],
    [["agents", 7, "name"], "value", 4, 3],
    [["datasets"], "value", 2, 1],
    [["none", "at", "all"], "key", 2, 1],
  ])("finds the place of %j (%s) at %d:%d", (path, of, line, column) => {
    expect(locate(path, of)).toEqual({ line, column });
  });

  test("in an empty file finds nothing", () => {
    expect(parseSource("", "job.yaml").locate(["agents"], "key")).toBeUndefined();
  });

  test("counts the lines of a file with Windows line ends", () => {
    expect(parseSource("a: 1\r\nb:\r\n  c: 2\r\n", "job.yaml").locate(["b", "c"], "value")).toEqual({
      line: 3,
      column: 6,
    });
  });

  test("counts a tab in JSON as one column", () => {
    expect(parseSource('{\n\t"a": {\n\t\t"b": 1\n\t}\n}', "job.json").locate(["a", "b"], "key")).toEqual({
      line: 3,
      column: 3,
    });
  });
});

describe("textOf", () => {
  test.each([
    ["2.0", "2.0"],
    ["1.10", "1.10"],
    ["007", "007"],
    ["0x10", "0x10"],
    ["1e3", "1e3"],
    ["True", "True"],
    ["-0", "-0"],
  ])("is how %s was written", (written, expected) => {
    const source = parseSource(`a: &x ${written}\nb: *x\n`, "job.yaml");
    expect(source.textOf(["a"])).toBe(expected);
    expect(source.textOf(["b"])).toBe(expected);
  });

  test.each(["'2.0'", "text", "~", "[1]", "{a: 1}"])("is nothing for %s, which is no number", (written) => {
    expect(parseSource(`a: ${written}\n`, "job.yaml").textOf(["a"])).toBeUndefined();
  });
});
