import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { formatProblem } from "../../base/problem.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { exampleLine, type ExampleSource } from "./example-source.ts";
import { openExampleFile } from "./open-example-file.ts";

const { signal } = new AbortController();

async function open(name: string, text: string): Promise<ExampleSource> {
  const dir = await mkdtemp(join(tmpdir(), "rollout-examples-"));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  await writeFile(join(dir, name), text);
  return await openExampleFile({ path: join(dir, name), name, signal });
}

async function lines(name: string, text: string): Promise<string[]> {
  const lines: string[] = [];
  for await (const examples of (await open(name, text)).read())
    for (const each of examples) lines.push(exampleLine(each));
  return lines;
}

async function problems(name: string, text: string): Promise<string[]> {
  const error = await open(name, text).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RolloutError);
  return (error as RolloutError).problems.map((each) => formatProblem({ ...each, file: name }));
}

test("JSON lines, a JSON array and CSV give the same examples; without an id an example has its number", async () => {
  const expected = ['{"id":"a","input":"q","output":"1","metadata":{"k":"v"}}', '{"id":"2","input":"r"}'];
  const [first, second] = ['{"id":"a","input":"q","output":"1","metadata":{"k":"v"}}', '{"input":"r"}'];
  expect(await lines("x.jsonl", `\n${first}\r\n\n${second}`)).toEqual(expected);
  expect(await lines("x.json", `[${first},\n ${second}]`)).toEqual(expected);
  expect(await lines("x.csv", "id,input,output,metadata.k\na,q,1,v\n,r,,\n")).toEqual(expected);
});

test("values pass as they are written, on one line", async () => {
  const text = '[{"id": 7, "input": {"n": 12345678901234567890,\n    "t": "a\\nb"}, "expected_output": null}]';
  expect(await lines("x.json", text)).toEqual([
    '{"id":"7","input":{"n": 12345678901234567890,"t": "a\\nb"},"output":null}',
  ]);
});

test("all that is wrong is told at once, each at its place", async () => {
  expect(
    await problems(
      "x.jsonl",
      [
        '{"id":"a","input":1}',
        '{"input":}',
        "[]",
        '{"id":"a","input":2}',
        '{"inptu":3}',
        '{"id":"","input":4,"metadata":[]}',
      ].join("\n"),
    ),
  ).toEqual([
    "x.jsonl:2:10 expected a JSON value",
    "x.jsonl:3:1 expected an object with an `input`",
    'x.jsonl:4:1 id: "a" is in line 1 already',
    "x.jsonl:5:1 there is no `input`",
    'x.jsonl:5:1 inptu: unknown field; did you mean "input"?',
    "x.jsonl:6:1 id: expected a text that is not empty, or a number",
    "x.jsonl:6:1 metadata: expected an object",
  ]);
  expect(await problems("x.json", '[{"input":1},\n  {"input" 2}]')).toEqual(['x.json:2:12 expected ":" after the key']);
  expect(await problems("x.csv", "id,inptu\n1,2\n")).toEqual([
    expect.stringMatching(/^x\.csv:1:4 column "inptu": .*did you mean "input"/),
  ]);
  expect(await problems("x.jsonl", " \n")).toEqual(["x.jsonl there are no examples in it"]);
});

test("the hash tells other content from the same content, whatever the format", async () => {
  const hash = async (name: string, text: string): Promise<string | null> => (await open(name, text)).hash;
  const first = await hash("x.jsonl", '{"input":1}\n{"input":2}\n');
  expect(await hash("x.json", '[{"input":1},{"input":2}]')).toBe(first);
  expect(await hash("x.jsonl", '{"input":2}\n{"input":1}\n')).not.toBe(first);
});

test("a file is known to have the lines that we would write only when it has just these, and its hash is theirs", async () => {
  const plain = [
    '{"id":"a","input":{"q": 1.0},"output":null,"metadata":{"k":"v"}}',
    '{"id":"b","input":"r","metadata":{}}',
    '{"id":"c","input":[]}',
  ];
  const { plainFile, hash } = await open("x.jsonl", `${plain.join("\n")}\n`);
  expect(plainFile).not.toBeNull();
  for (const other of [
    plain.join("\n"),
    `\uFEFF${plain.join("\n")}\n`,
    `${plain.join("\r\n")}\r\n`,
    `${plain.join("\n\n")}\n`,
    `${plain.join("\n").replace('"a",', '"a", ')}\n`,
    `${plain.join("\n").replace('{"id":"c","input":[]}', '{"input":[],"id":"c"}')}\n`,
    `${plain.join("\n").replace('{"id":"c","input":[]}', '{"id":"c","input":[],"metadata":null}')}\n`,
    `${plain.join("\n").replace('"id":"c"', '"id":"\\u0063"')}\n`,
    `${plain.join("\n").replace('"output":null', '"expected_output":null')}\n`,
    `${plain.join("\n").replace('"id":"c"', '"id":"x","id":"c"')}\n`,
  ]) {
    const source = await open("x.jsonl", other);
    expect(source.plainFile).toBeNull();
    expect(source.hash).toBe(hash);
  }
});
