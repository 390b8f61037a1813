import { createReadStream, existsSync } from "node:fs";

/** A line of a file and where it begins. */
export interface PlacedLine {
  readonly offset: number;
  readonly text: string;
}

const newline = 10;

/** The lines of a file, as many at once as are there, also a last one that was cut short; none when there is no file. */
export async function* scanLines(path: string): AsyncGenerator<readonly PlacedLine[], void> {
  if (!existsSync(path)) return;
  let rest: Buffer[] = [];
  let offset = 0;
  for await (const piece of createReadStream(path, { highWaterMark: 1 << 18 })) {
    const chunk = piece as Buffer;
    const lines: PlacedLine[] = [];
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      const part = chunk.subarray(from, end);
      const bytes = rest.length === 0 ? part : Buffer.concat([...rest, part]);
      lines.push({ offset, text: bytes.toString() });
      offset += bytes.length + 1;
      rest = [];
      from = end + 1;
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
    if (lines.length > 0) yield lines;
  }
  if (rest.length > 0) yield [{ offset, text: Buffer.concat(rest).toString() }];
}
