import { createReadStream } from "node:fs";
import { LineSplitter } from "./line-splitter.ts";

const longestLine = 128 * 1024 * 1024;

/** The lines of a file, one at a time, without those that are blank; rejects on one that is too long to be held. */
export async function* readLines(path: string): AsyncIterable<string> {
  let ready: string[] = [];
  const splitter = new LineSplitter(
    longestLine,
    (source, from, to) => {
      const line = source.slice(from, to);
      if (line.trim() !== "") ready.push(line);
    },
    ({ bytes }) => {
      throw new Error(`${path} has a line of ${bytes} bytes`);
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
