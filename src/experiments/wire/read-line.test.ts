import { describe, expect, test } from "vitest";
import { LineSplitter } from "./line-splitter.ts";
import { JsonText } from "../../base/json-text.ts";
import { readBegunLine, readLine, type WireLine } from "./read-line.ts";

function read(line: string): WireLine {
  return readLine(JsonText.ofLines(Buffer.from(`${line}\n`)), 0, Buffer.byteLength(line));
}

function membersOf(line: string): Record<string, string>[] {
  return read(line).messages.map(({ members }) => Object.fromEntries(members));
}

describe("a line of an executor", () => {
  test("is a message when it has what messages have", () => {
    expect(membersOf('{"run_id": "a#1", "output": {"n": [1, 2]}}')).toEqual([
      { run_id: '"a#1"', output: '{"n": [1, 2]}' },
    ]);
    expect(membersOf('{"__cat__": 1, "ok": true}')).toEqual([{ __cat__: "1", ok: "true" }]);
  });

  test("that is other JSON, or none, is what somebody printed", () => {
    for (const line of ["hello", '{"score": 1}', '["run_id"]', "{", "{x}", '{"a": {"run_id": "b#1"}}', ""]) {
      expect(read(line)).toMatchObject({ messages: [], printed: line, isTorn: false });
    }
  });

  test("may have text before, between and after messages", () => {
    const line = 'at {1/3} {"run_id":"a#1"}{"ok":true} {"loss":{"run_id":1}} {"run_id":"b#1"}end';
    expect(membersOf(line)).toEqual([{ run_id: '"a#1"' }, { ok: "true" }, { run_id: '"b#1"' }]);
    expect(read(line).printed).toBe('at {1/3}  {"loss":{"run_id":1}} end');
  });

  test("may have hundreds of messages, and hundreds of brackets before them", () => {
    const messages = '{"run_id":"a#1"}'.repeat(300);
    expect(read("{x".repeat(300) + messages).messages).toHaveLength(300);
  });

  test("with a list has the answers that are in it, with its mark", () => {
    const line = '{"__cat__":1,"data":[{"run_id":"a#1","score":1.00},{"run_id":"b#1","score":NaN}]}';
    expect(membersOf(line)).toEqual([
      { run_id: '"a#1"', score: "1.00" },
      { run_id: '"b#1"', score: '"NaN"' },
    ]);
    expect(read(line).messages.map(({ isMarked }) => isMarked)).toEqual([true, true]);
    expect(membersOf('{"data":[{"name":"x"}]}')).toEqual([{ data: '[{"name":"x"}]' }]);
  });

  test("with numbers that JSON lacks has them as text, and says in which members", () => {
    const [message] = read('{"run_id":"é#1","score":NaN,"label":"NaN","metadata":{"a":[-Infinity,1]}}').messages;
    expect(Object.fromEntries(message?.members ?? [])).toEqual({
      run_id: '"é#1"',
      score: '"NaN"',
      label: '"NaN"',
      metadata: '{"a":["-Infinity",1]}',
    });
    expect(message?.members.flawed).toEqual(["score", "metadata"]);
  });

  test("with a member that is nested too deep still has the others", () => {
    const deep = `${'[{"a":"]"},'.repeat(5000)}1${"]".repeat(5000)}`;
    const [message] = read(`{"output":${deep},"run_id":"a#1"}`).messages;
    expect(message?.members.flawOf("output")).toBe("too_deep");
    expect(message?.members.get("run_id")).toBe('"a#1"');
  });

  test("that was cut off, or that another one was written into, says so", () => {
    expect(read('{"run_id":"a#1","out{"run_id":"b#1","output":1}put":2}')).toMatchObject({ isTorn: true });
    expect(membersOf('{"run_id":"a#1","out{"run_id":"b#1","output":1}put":2}')).toMatchObject([{ run_id: '"b#1"' }]);
    expect(read('{"run_id": }')).toMatchObject({ isTorn: true, messages: [] });
  });

  test("full of brackets is given up soon", () => {
    expect(read("{".repeat(1_000_000)).messages).toEqual([]);
    expect(read('{"a":'.repeat(200_000)).messages).toEqual([]);
  });
});

describe("a line whose end is still to come", () => {
  function readBegun(text: string): [string[], string, number] {
    const source = JsonText.ofLines(Buffer.from(`${text}\n`));
    const { messages, printed, end } = readBegunLine(source, 0, source.length);
    return [messages.map(({ members }) => members.get("run_id") ?? ""), printed, end];
  }

  test("has the messages that are complete", () => {
    expect(readBegun('a {"run_id":"a#1"}{"run_id":"b#1"} {"run_id":"c#1","out')).toEqual([
      ['"a#1"', '"b#1"'],
      "a ",
      34,
    ]);
  });

  test("has none inside one that is not", () => {
    expect(readBegun('{"output":{"run_id":"b#1","error":"x"},')).toEqual([[], "", 0]);
    expect(readBegun('{"loss":1} and')).toEqual([[], "", 0]);
  });

  test("has the messages behind brackets that begin no object", () => {
    const printed = "{'a': 1} {50%} { ";
    expect(readBegun(`${printed}{"run_id":"a#1"}.`)).toEqual([['"a#1"'], printed, 33]);
  });
});

describe("lines", () => {
  function split(chunks: readonly string[], longest = 100): string[] {
    const lines: string[] = [];
    const splitter = new LineSplitter(
      longest,
      (source, from, to) => lines.push(source.slice(from, to)),
      ({ bytes, head }) => lines.push(`<${bytes} ${head.length}>`),
    );
    for (const chunk of chunks) splitter.push(Buffer.from(chunk));
    splitter.end();
    return lines;
  }

  test("are the same however the bytes come", () => {
    const text = 'one\n\nthré{"e":1}\nfour';
    for (let cut = 0; cut <= text.length; cut++)
      expect(split([text.slice(0, cut), text.slice(cut)])).toEqual(["one", "", 'thré{"e":1}', "four"]);
  });

  test("whose end does not come can be taken in part", () => {
    const lines: string[] = [];
    const splitter = new LineSplitter(
      100,
      (source, from, to) => lines.push(source.slice(from, to)),
      () => {},
    );
    splitter.push(Buffer.from("taken left"));
    splitter.offerBegun((source, from) => {
      lines.push(source.slice(from, from + 6));
      return 6;
    });
    splitter.push(Buffer.from(" and more\n"));
    expect(lines).toEqual(["taken ", "left and more"]);
  });

  test("that are too long are told and not held, and the next one is read", () => {
    expect(split(["x".repeat(90), "y".repeat(90), "z\nnext\n"])).toEqual(["<181 90>", "next"]);
  });
});
