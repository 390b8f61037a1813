import { createHash } from "node:crypto";
import { toRaw, type RawJson } from "../../base/raw-json.ts";
import type { Example } from "../run/example.ts";

/** The examples of an experiment: they were looked at once, and stream from the first one each time. */
export interface ExampleSource {
  /** As a person would type it. */
  readonly name: string;
  /** The dataset of a store that they are from, null for a file. */
  readonly dataset: { readonly id: string; readonly version: number } | null;
  readonly count: number;
  /** Tells these examples from all others; null where a dataset and its version do. */
  readonly hash: string | null;
  /** A file with their lines and nothing else, written as we write them; null when there is none. */
  readonly plainFile: string | null;
  /** As many at once as are there, to be gone through before the next are asked for: a promise for each would cost more than reading it. */
  read(): AsyncIterable<Iterable<Example>>;
}

/** An example as a line of JSON. */
export function exampleLine({ id, input, output, metadata }: Example): string {
  return `{"id":${toRaw(id)},"input":${input}${member("output", output)}${member("metadata", metadata)}}`;
}

function member(name: string, raw: RawJson | null): string {
  return raw === null ? "" : `,"${name}":${raw}`;
}

// A call for each example would cost more than its hash.
const leastAtOnce = 1 << 14;

/** Adds up examples to the hash of all of them: as they are, or their line where that is known. */
export function startExampleHash(): ExampleHash {
  const hash = createHash("sha256");
  let text = "";
  const flush = (): void => {
    if (text !== "") hash.update(text);
    text = "";
  };
  return {
    add(example) {
      text += `${exampleLine(example)}\n`;
      if (text.length >= leastAtOnce) flush();
    },
    addLines(lines) {
      flush();
      hash.update(lines);
    },
    digest() {
      flush();
      return hash.digest("hex");
    },
  };
}

export interface ExampleHash {
  add(example: Example): void;
  addLines(lines: Buffer): void;
  digest(): string;
}

/** The first so many of a source. */
export function firstExamples(source: ExampleSource, count: number): ExampleSource {
  return { ...source, count: Math.min(count, source.count), plainFile: null, read: () => take(source.read(), count) };
}

async function* take(
  examples: AsyncIterable<Iterable<Example>>,
  count: number,
): AsyncGenerator<readonly Example[], void> {
  let left = count;
  for await (const some of examples) {
    const taken = Iterator.from(some).take(left).toArray();
    yield taken;
    left -= taken.length;
    if (left <= 0) return;
  }
}
