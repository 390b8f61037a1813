import { describe, expect, test } from "vitest";
import { jsonEquals } from "./json-equals.ts";
import { jsonSchema } from "./json-schema.ts";
import { score } from "./testing/score.ts";

describe("json equality", () => {
  const groundTruth = { name: "Ada", tags: ["a", "b"] };

  test("parses a text, also one in a fence, and takes an agent's object", async () => {
    const text = '{"tags":["a","b"],"name":"Ada"}';
    const structured = { text: "…", object: groundTruth, finishReason: "stop" };
    for (const output of [
      text,
      `\`\`\`json\n${text}\n\`\`\``,
      groundTruth,
      structured,
      { text, finishReason: "stop" },
    ]) {
      expect(await score(jsonEquals(), { output, groundTruth })).toEqual({ score: 1, reason: null });
    }
  });

  test("names the first path that differs", async () => {
    expect(await score(jsonEquals(), { output: '{"name":"Ada","tags":["a","c"]}', groundTruth })).toEqual({
      score: 0,
      reason: 'tags[1]: expected "b", got "c"',
    });
  });

  test("marks a text that is no JSON 0 and says so", async () => {
    expect(await score(jsonEquals(), { output: "Ada", groundTruth })).toEqual({
      score: 0,
      reason: "the output is not JSON",
    });
  });

  test("takes a ground truth that is JSON in a text", async () => {
    expect(await score(jsonEquals(), { output: [1, 2], groundTruth: "[1, 2]" })).toMatchObject({ score: 1 });
  });
});

describe("json schema", () => {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    required: ["name", "age"],
    additionalProperties: false,
    properties: { name: { type: "string" }, age: { $ref: "#/$defs/age" }, pair: { prefixItems: [{ type: "number" }] } },
    $defs: { age: { type: "integer", minimum: 0 } },
  };

  test("marks what fits 1, also when it is a text", async () => {
    const scorer = jsonSchema({ schema });
    expect(await score(scorer, { output: { name: "Ada", age: 36 } })).toEqual({ score: 1, reason: null });
    expect(await score(scorer, { output: '{"name":"Ada","age":36,"pair":[1,"x"]}' })).toMatchObject({ score: 1 });
  });

  test("lists the paths that do not fit", async () => {
    const output = { name: 3, age: -1, pair: ["x"], more: 1 };
    const { score: mark, reason } = await score(jsonSchema({ schema }), { output });
    expect(mark).toBe(0);
    expect(reason?.split("; ").sort()).toEqual([
      "/age must be >= 0",
      "/name must be string",
      "/pair/0 must be number",
      "the output must NOT have additional properties (more)",
    ]);
  });

  test("takes words and formats it does not know as notes", async () => {
    const scorer = jsonSchema({ schema: { type: "string", format: "made-up", "x-note": 1 } });
    expect(await score(scorer, { output: '"text"' })).toMatchObject({ score: 1 });
  });

  test("throws over a schema that is wrong, on every run", async () => {
    const scorer = jsonSchema({ schema: { type: "strnig" } });
    for (let index = 0; index < 2; index++) {
      await expect(score(scorer, { output: "1" })).rejects.toMatchObject({ code: "usage_invalid" });
    }
    expect(() => jsonSchema({ schema: "{}" } as never)).toThrow(/schema: expected a table, got "{}"/);
  });
});
