import { describe, expect, test } from "vitest";
import { LineSplitter } from "./line-splitter.ts";
import { JsonText } from "../../base/json-text.ts";
import { readLine, type WireLine } from "./read-line.ts";

function read(line: string): WireLine {
  return readLine(JsonText.ofLines(Buffer.from(`${line}\n`)), 0, Buffer.byteLength(line));
}

function membersOf(line: string): Record<string, string> | null {
  const { message } = read(line);
  return message === null ? null : Object.fromEntries(message.members);
}

describe("a line of an executor", () => {
  test("is a message when it has what messages have", () => {
    expect(membersOf('{"run_id": "a#1", "output": {"n": [1, 2]}}')).toEqual({
      run_id: '"a#1"',
      output: '{"n": [1, 2]}',
    });
    expect(membersOf('{"__cat__": 1, "ok": true}')).toEqual({ __cat__: "1", ok: "true" });
  });

  test("that is other JSON, or none, is what somebody printed", () => {
    for (const line of ["hello", '{"score": 1}', '["run_id"]', "{", '{"run_id": }', ""]) {
      expect(read(line)).toEqual({ message: null, printed: line });
    }
  });

  test("may have print without a line end before the message, and after it", () => {
    expect(read('progress {1/3}... {"run_id":"a#1","output":1}')).toMatchObject({ printed: "progress {1/3}... " });
    expect(membersOf('progress {1/3}... {"run_id":"a#1","output":1}')).toEqual({ run_id: '"a#1"', output: "1" });
    expect(read('{"run_id":"a#1"}tail')).toMatchObject({ printed: "tail" });
  });

  test("with numbers that JSON lacks is a message with nulls, and says so", () => {
    const { message } = read('{"run_id":"a#1","evaluator":"e","score":NaN,"label":"NaN -Infinity"}');
    expect(message?.hadNonFinite).toBe(true);
    expect(Object.fromEntries(message?.members ?? [])).toMatchObject({ score: "null", label: '"NaN -Infinity"' });
  });

  test("full of brackets is given up soon", () => {
    expect(read("{".repeat(1_000_000)).message).toBeNull();
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

  test("that are too long are told and not held, and the next one is read", () => {
    expect(split(["x".repeat(90), "y".repeat(90), "z\nnext\n"])).toEqual(["<181 90>", "next"]);
  });
});
