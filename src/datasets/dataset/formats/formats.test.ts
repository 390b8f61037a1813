import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DatasetItem } from "../../../store/dataset-store.ts";
import { findJsonError } from "../../../formats/find-json-error.ts";
import { readCsv } from "../../../formats/read-csv.ts";
import { readCsvRows } from "../../../formats/read-csv-rows.ts";
import { readJsonArray } from "../../../formats/read-json-array.ts";
import { readJsonLines } from "../../../formats/read-json-lines.ts";
import { itemColumns, toItem } from "./to-item.ts";
import { writeCsv } from "./write-csv.ts";
import { writeJsonArray, writeJsonLines } from "./write-json.ts";

async function* pieces(text: string, size: number): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
}

async function* each(items: readonly DatasetItem[]): AsyncGenerator<DatasetItem> {
  yield* items;
}

const join = async (text: AsyncIterable<string>): Promise<string> => (await Array.fromAsync(text)).join("");

const item = fc.record(
  {
    id: fc.string({ minLength: 1 }).filter((id) => id.trim() === id),
    input: fc.jsonValue(),
    expectedOutput: fc.jsonValue(),
    metadata: fc.dictionary(
      fc.string({ minLength: 1 }).filter((name) => name.trim() === name),
      fc.jsonValue(),
      {
        maxKeys: 3,
      },
    ),
    scorerIds: fc.array(fc.string()),
    version: fc.constant(1),
  },
  { requiredKeys: ["id", "input", "version"] },
) as fc.Arbitrary<DatasetItem>;

describe("what would not come back as it stands", () => {
  const problems = async (entries: AsyncIterable<unknown>): Promise<unknown[]> =>
    (await Array.fromAsync(entries)).filter((entry) => "problem" in (entry as object));
  const lost = (digits: string): string => `the number ${digits} would lose digits; write it as a text: "${digits}"`;

  test("is told with its line: integers that a number does not hold, and numbers beyond all", async () => {
    const line = '{"input":{"a":[1e5,"9007199254740993",9007199254740992]}}\n{"input": 9007199254740993}\n';
    const expected = [{ line: 2, column: 11, problem: lost("9007199254740993") }];
    expect(await problems(readJsonLines(pieces(line, 7)))).toEqual(expected);
    const array = '[{"input":-12345678901234567890},\n{"input":1e999}]';
    expect(await problems(readJsonArray(pieces(array, 7)))).toEqual([
      { line: 1, column: 11, problem: lost("-12345678901234567890") },
      { line: 2, column: 10, problem: lost("1e999") },
    ]);
  });

  test("is told of the cells that are read as JSON alone", async () => {
    const csv = 'id,input\n12345678901234567890,12345678901234567890\nx,"[9007199254740993]"\n';
    const read = (cells: "json" | "text"): Promise<unknown[]> =>
      problems(readCsv(pieces(csv, 7), { cells, known: itemColumns }));
    const list = { line: 3, column: 3, problem: `column "input": ${lost("9007199254740993")}` };
    expect(await read("text")).toEqual([list]);
    expect(await read("json")).toEqual([
      { line: 2, column: 22, problem: `column "input": ${lost("12345678901234567890")}` },
      list,
    ]);
  });

  test("is told of what is nested too deeply", async () => {
    for (const deep of [`{"input":${"[".repeat(20_000)}${"]".repeat(20_000)}}`, `{"input":${"[".repeat(20_000)}`]) {
      const problem = "it is nested deeper than 500 levels";
      expect(await problems(readJsonLines(pieces(`{"input":1}\n${deep}\n`, 999)))).toMatchObject([
        { line: 2, problem },
      ]);
    }
  });
});

test("problems of a header are told at their columns", async () => {
  const read = (header: string): Promise<unknown[]> =>
    Array.fromAsync(readCsv(pieces(`${header}\n`, 5), { cells: "text", known: itemColumns }));
  expect(await read('id,"input",answer,wrong')).toMatchObject([
    { line: 1, column: 12 },
    { line: 1, column: 19 },
  ]);
  expect(await read("id,input,id")).toMatchObject([{ line: 1, column: 10 }]);
});

describe("items that are written come back whole, in pieces of any size", () => {
  const size = fc.integer({ min: 1, max: 60 });
  const back = (entries: readonly unknown[]): unknown[] =>
    entries.map((entry) => toItem((entry as { value: unknown }).value, null));
  const wanted = (items: readonly DatasetItem[]): unknown[] =>
    items.map((item) => ({ item: JSON.parse(JSON.stringify({ ...item, version: undefined })) }));

  test("as JSON lines", () =>
    fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 6 }), size, async (items, n) => {
        const text = await join(writeJsonLines(() => each(items)));
        expect(back(await Array.fromAsync(readJsonLines(pieces(text, n))))).toEqual(wanted(items));
      }),
    ));

  test("as a JSON array", () =>
    fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 6 }), size, async (items, n) => {
        const text = await join(writeJsonArray(() => each(items)));
        expect(JSON.parse(text)).toHaveLength(items.length);
        expect(back(await Array.fromAsync(readJsonArray(pieces(text, n))))).toEqual(wanted(items));
      }),
    ));

  test("as CSV with cells of JSON", () =>
    fc.assert(
      fc.asyncProperty(fc.array(item, { maxLength: 6 }), size, async (items, n) => {
        const text = await join(writeCsv(() => each(items)));
        const read = readCsv(pieces(text, n), { cells: "json", known: itemColumns });
        expect(back(await Array.fromAsync(read))).toEqual(wanted(items));
      }),
    ));
});

describe("CSV", () => {
  const rows = async (text: string, size = 3): Promise<unknown[]> =>
    (await Array.fromAsync(readCsvRows(pieces(text, size)))).map((row) => ("cells" in row ? row.cells : row));

  test.each([
    [
      "a,b\n1,2\n",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    [
      "a,b\r\n1,2",
      [
        ["a", "b"],
        ["1", "2"],
      ],
    ],
    ['"x, y","say ""hi""","two\nlines"', [["x, y", 'say "hi"', "two\nlines"]]],
    [
      "a,,\n\n,\n",
      [
        ["a", "", ""],
        ["", ""],
      ],
    ],
    ['"",""""', [["", '"']]],
  ])("reads %j", async (text, expected) => {
    for (const size of [1, 2, 3, 100]) expect(await rows(text, size)).toEqual(expected);
  });

  test("a broken row is told with line and column, and the rows after it are read", async () => {
    expect(await rows('a,b\n"x"y,2\n1,2\nb"c,3\n')).toEqual([
      ["a", "b"],
      { line: 2, column: 4, problem: expect.stringContaining("after the quote") },
      ["1", "2"],
      { line: 4, column: 2, problem: expect.stringContaining("begins with one") },
    ]);
    expect(await rows('a\n1,"x\ny')).toEqual([
      ["a"],
      { line: 2, column: 3, problem: expect.stringContaining("never closed") },
    ]);
  });

  const records = async (text: string, cells: "text" | "json" = "text", isMapped = false): Promise<unknown[]> =>
    Array.fromAsync(readCsv(pieces(text, 7), { cells, known: isMapped ? null : itemColumns }), (entry) =>
      "value" in entry ? entry.value : `${entry.line}:${entry.column} ${entry.problem}`,
    );

  test("columns fold into input and metadata; a cell is text unless it is an object, a list or a quoted string", async () => {
    const text = 'id,input.q,input.n,metadata.tags,expected_output\n1,hi,42,"[""a""]",\n2,"{""a"":1}",,,true\n';
    expect(await records(text)).toEqual([
      { id: "1", input: { q: "hi", n: "42" }, metadata: { tags: ["a"] } },
      { id: "2", input: { q: { a: 1 } }, expected_output: "true" },
    ]);
    expect((await records(text, "json"))[0]).toMatchObject({ id: "1", input: { n: 42 } });
  });

  test("columns that mean nothing, come twice or are too few for a row are told", async () => {
    expect(await records("inptu,x\n1,2\n")).toEqual([
      expect.stringMatching(/1:1 column "inptu".*did you mean "input"/),
      expect.stringMatching(/column "x".*--input-columns/),
    ]);
    expect(await records("a,a\n", "text", true)).toEqual([expect.stringContaining('two columns are called "a"')]);
    expect(await records("input,input.x\n")).toEqual([expect.stringContaining("beside")]);
    expect(await records("id,input\n1,2,3\n")).toEqual([expect.stringMatching(/^2:1 .*3 cells.*2 columns/)]);
    expect(await records("")).toEqual([expect.stringContaining("names the columns")]);
  });
});

describe("a JSON array that is broken is told where", () => {
  test.each([
    ["", "1:1 expected a JSON array"],
    ['{"a":1}', "1:1 expected a JSON array"],
    ['[{"a":1}', '1:9 expected "]"'],
    ["[1,\n 2 3]", "2:4 expected nothing more"],
    ['[1,\n  {"a" 2}]', '2:8 expected ":"'],
    ["[,1]", "1:2 expected a value"],
    ["[1,,2]", "1:4 expected a value"],
    ['["a" "b"]', "1:6 expected nothing more"],
    ["[1] x", "1:5 expected nothing more after the array"],
  ])("%j", async (text, expected) => {
    for (const size of [1, 4, 99]) {
      const entries = await Array.fromAsync(readJsonArray(pieces(text, size)));
      const problem = entries.find((entry) => "problem" in entry);
      expect(problem && `${problem.line}:${problem.column} ${problem.problem}`).toContain(expected);
    }
  });
});

test.each([
  ['{"a":1,}', 7, /"," before "}"/],
  ["{'a':1}", 1, /double quotes/],
  ["[1 2]", 3, /"," or "]"/],
  ['{"a":"b', 5, /string/],
  ['{"a":', 5, /ends/],
  ["tru", 0, /JSON value/],
  ["01", 1, /nothing more/],
])("the first error of %j stands at %d", (text, offset, message) => {
  expect(findJsonError(text)).toEqual({ offset, message: expect.stringMatching(message) });
});

test("the place of an error is never before the last character that was still right", () => {
  fc.assert(
    fc.property(fc.json(), fc.nat(), (text, cut) => {
      const broken = text.slice(0, cut % text.length);
      try {
        JSON.parse(broken);
      } catch {
        expect(findJsonError(broken).offset).toBeLessThanOrEqual(broken.length);
      }
    }),
  );
});

describe("fields of other names", () => {
  const mapping = { id: null, input: ["q"], expected: ["a"] };

  test("one field is the input itself, several are an object, the others become metadata", () => {
    expect(toItem({ id: 7, q: "hi", a: "yo", topic: "x" }, mapping)).toEqual({
      item: { id: "7", input: "hi", expectedOutput: "yo", metadata: { topic: "x" } },
    });
    expect(toItem({ key: "k", q: 1, c: 2 }, { id: "key", input: ["q", "c"], expected: [] })).toEqual({
      item: { id: "k", input: { q: 1, c: 2 } },
    });
  });

  test("a field that is not there is told with what there is", () => {
    expect(toItem({ question: 1 }, mapping)).toEqual({
      problems: [{ path: "q", message: expect.stringContaining("question") }],
    });
  });

  test("without a mapping an unknown key is a problem", () => {
    expect(toItem({ input: 1, expectedoutput: 2 }, null)).toEqual({
      problems: [{ path: "expectedoutput", message: expect.stringContaining('did you mean "expectedOutput"') }],
    });
    for (const value of [1, null, [], "x"]) expect(toItem(value, null)).toHaveProperty("problems");
  });
});
