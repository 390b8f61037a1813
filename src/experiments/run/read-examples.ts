import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { parseRaw, scanObject, toRaw, type RawJson } from "../../base/raw-json.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { describeUnknown } from "../../base/suggest.ts";
import { LineSplitter } from "../wire/line-splitter.ts";
import type { Example } from "./example.ts";

const known = ["id", "input", "output", "expected_output", "metadata"];
const longestLine = 128 * 1024 * 1024;

/** The examples of a dataset file, one at a time: JSON lines, or a JSON array. One without an id has its number for one. */
export async function* readExamples(path: string): AsyncIterable<Example> {
  const ids = new Set<string>();
  let place = 0;
  for await (const { text, line } of path.endsWith(".json") ? readArray(path) : readLines(path)) {
    const example = readExample(text, `${path}:${line}`, ++place);
    if (ids.has(example.id)) throw invalid(`${path}:${line}`, `the id "${example.id}" was there before`);
    ids.add(example.id);
    yield example;
  }
}

interface Entry {
  readonly text: string;
  /** From 1. */
  readonly line: number;
}

async function* readLines(path: string): AsyncIterable<Entry> {
  let ready: Entry[] = [];
  let line = 0;
  const splitter = new LineSplitter(
    longestLine,
    (text) => {
      line++;
      if (text.trim() !== "") ready.push({ text, line });
    },
    () => {
      throw invalid(`${path}:${line + 1}`, "the line is too long");
    },
  );
  for await (const chunk of createReadStream(path)) {
    splitter.push(chunk as Buffer);
    yield* ready;
    ready = [];
  }
  splitter.end();
  yield* ready;
}

async function* readArray(path: string): AsyncIterable<Entry> {
  let list: unknown;
  try {
    list = JSON.parse(await readFile(path, "utf8"));
  } catch (error) {
    throw new RolloutError("config_invalid", `${path} is no JSON`, { cause: error });
  }
  if (!Array.isArray(list)) throw invalid(path, "it is no list of examples");
  for (const [place, entry] of list.entries()) yield { text: JSON.stringify(entry), line: place + 1 };
}

function readExample(text: string, where: string, place: number): Example {
  const members = scanObject(text);
  if (members === null) throw invalid(where, "it is no JSON object");
  for (const name of members.keys())
    if (!known.includes(name)) throw invalid(where, `${name}: ${describeUnknown("field", name, known)}`);
  const input = members.get("input");
  if (input === undefined) throw invalid(where, "it has no input");
  return {
    id: readId(members.get("id"), where) ?? String(place),
    input,
    output: members.get("output") ?? members.get("expected_output") ?? null,
    metadata: members.get("metadata") ?? null,
  };
}

function readId(raw: RawJson | undefined, where: string): string | null {
  if (raw === undefined || raw === "null") return null;
  const id = parseRaw(raw);
  if (typeof id === "number") return String(id);
  if (typeof id !== "string" || id === "") throw invalid(where, `id: must be a text or a number, not ${toRaw(id)}`);
  return id;
}

function invalid(where: string, message: string): RolloutError {
  return new RolloutError("config_invalid", `${where} ${message}`);
}

/** The first so many. */
export async function* firstExamples(examples: AsyncIterable<Example>, count: number): AsyncIterable<Example> {
  let left = count;
  for await (const example of examples) {
    yield example;
    if (--left <= 0) return;
  }
}
