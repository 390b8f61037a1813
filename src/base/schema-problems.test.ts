import { describe, expect, test } from "vitest";
import { z } from "zod";
import { formatProblem } from "./problem.ts";
import { schemaProblems } from "./schema-problems.ts";

const schema = z.strictObject({
  count: z.int().min(1).max(10).default(1),
  ratio: z.number().gt(0).lt(1).default(0.5),
  flag: z.boolean().optional(),
  name: z.string().min(1).optional(),
  level: z.enum(["debug", "info", "error"]).default("error"),
  path: z.string().startsWith("/", "must be absolute").optional(),
  list: z.array(z.strictObject({ kind: z.enum(["sum", "mean"]), note: z.string().optional() })).optional(),
  few: z.array(z.string()).min(2).optional(),
  named: z.array(z.string()).min(1, "needs at least one name").optional(),
  env: z.record(z.string().regex(/^[A-Z]+$/, "is not a name"), z.string()).default({}),
  text: z.union([z.string(), z.number()]).transform(String).optional(),
  policy: z.union([z.enum(["full"]), z.strictObject({ allow: z.string() })], { error: "full or allow" }).optional(),
  inner: z.strictObject({ deep: z.strictObject({ key: z.string().default("x") }).prefault({}) }).prefault({}),
  must: z.string().default("given"),
  $schema: z.string().optional(),
});

function problemsOf(value: unknown): string[] {
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return [];
  return schemaProblems(parsed.error, schema, () => ({ file: "f" })).map(formatProblem);
}

describe("schemaProblems says", () => {
  test.each<[string, unknown, string]>([
    ["that a key is unknown", { cuont: 1 }, 'f cuont: unknown key; did you mean "count"?'],
    [
      "which keys there are, our own marks left out",
      { list: [{ kind: "sum", banana: 1 }] },
      "f list[0].banana: unknown key; known: kind, note",
    ],
    [
      "what was meant inside tables with defaults",
      { inner: { deep: { kye: 1 } } },
      'f inner.deep.kye: unknown key; did you mean "key"?',
    ],
    ["which type was expected", { name: 5 }, "f name: expected a string, got 5"],
    ["that a number is no text", { ratio: "high" }, 'f ratio: expected a number, got "high"'],
    ["that nothing stands there", { name: null }, "f name: expected a string, got nothing"],
    ["that a table stands there", { name: { a: 1 } }, "f name: expected a string, got a table"],
    ["that a list stands there", { inner: [] }, "f inner: expected a table, got a list; its keys are deep"],
    ["that a list was expected", { list: "x" }, 'f list: expected a list, got "x"'],
    ["that a table was expected", { env: 5 }, "f env: expected a table, got 5"],
    ["that a function stands there", { name: () => 1 }, "f name: expected a string, got a function"],
    ["only the first thing about a key", { name: [] }, "f name: expected a string, got a list"],
    ["that true or false was expected", { flag: "yes" }, 'f flag: expected true or false, got "yes"'],
    ["that a number has to be whole", { count: 1.5 }, "f count: expected a whole number, got 1.5"],
    ["that NaN is no number", { ratio: Number.NaN }, "f ratio: expected a number, got NaN"],
    ["that there is no infinite number", { ratio: Infinity }, "f ratio: expected a number, got Infinity"],
    ["a lower bound", { count: 0 }, "f count: must be at least 1, got 0"],
    ["an upper bound", { count: 11 }, "f count: must be at most 10, got 11"],
    ["a lower bound that does not count itself", { ratio: 0 }, "f ratio: must be more than 0, got 0"],
    ["an upper bound that does not count itself", { ratio: 1 }, "f ratio: must be less than 1, got 1"],
    ["that a text is empty", { name: "" }, "f name: must not be empty"],
    ["that a list is too short", { few: ["a"] }, "f few: needs at least 2"],
    ["our own words for a short list", { named: [] }, "f named: needs at least one name"],
    ["our own words for a format", { path: "rel" }, "f path: must be absolute"],
    ["our own words for a name", { env: { "1": "x" } }, 'f env["1"]: is not a name'],
    ["our own words for a choice of shapes", { policy: "none" }, "f policy: full or allow"],
    ["every shape that was possible", { text: true }, "f text: expected a string or a number, got true"],
    [
      "the choices and the nearest",
      { level: "eror" },
      'f level: expected one of debug, info, error, got "eror"; did you mean "error"?',
    ],
    ["the choices", { level: 5 }, "f level: expected one of debug, info, error, got 5"],
    ["that a choice is missing", { list: [{}] }, "f list[0].kind: is required (one of sum, mean)"],
    ["that the whole is no table", [], "f expected a table, got a list"],
    ["a long text shortened", { ratio: "x".repeat(100) }, `f ratio: expected a number, got "${"x".repeat(40)}…"`],
  ])("%s", (_, value, expected) => {
    expect(problemsOf(value)).toEqual([expected]);
  });

  test("that a key is required, and of which type", () => {
    const strict = z.strictObject({
      agents: z.array(z.string()),
      name: z.string(),
      either: z.union([z.number(), z.object()]),
    });
    const parsed = strict.safeParse({}, { reportInput: true });
    const problems = parsed.success ? [] : schemaProblems(parsed.error, strict, () => ({ file: "f" }));
    expect(problems.map(formatProblem)).toEqual([
      "f agents: is required (a list)",
      "f name: is required (a string)",
      "f either: is required (a number or a table)",
    ]);
  });
});

test("problems come in the order of the file, each at its key or value", () => {
  const lines: Record<string, number> = { bad: 3, count: 9, "env.x": 1 };
  const asked: string[] = [];
  const parsed = schema.safeParse({ count: 0, bad: 1, env: { x: "1" } }, { reportInput: true });
  if (parsed.success) throw new Error("the schema took it");
  const problems = schemaProblems(parsed.error, schema, (path, of) => {
    asked.push(`${path.join(".")} ${of}`);
    return { file: "f", line: lines[path.join(".")] ?? 99, column: 1 };
  });
  expect(problems.map((problem) => problem.path)).toEqual(["env.x", "bad", "count"]);
  expect(asked.sort()).toEqual(["bad key", "count value", "env.x key"]);
});
