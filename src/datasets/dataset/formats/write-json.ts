import type { DatasetItem } from "../../../store/dataset-store.ts";

const piecesAtOnce = 200;

/** Items as JSON lines. */
export async function* writeJsonLines(read: () => AsyncIterable<DatasetItem>): AsyncGenerator<string, void> {
  for await (const lines of inPieces(read())) yield lines.map((line) => `${line}\n`).join("");
}

/** Items as one JSON array, with a line for each. */
export async function* writeJsonArray(read: () => AsyncIterable<DatasetItem>): AsyncGenerator<string, void> {
  let before = "[\n";
  for await (const lines of inPieces(read())) {
    yield before + lines.join(",\n");
    before = ",\n";
  }
  yield before === "[\n" ? "[]\n" : "\n]\n";
}

async function* inPieces(items: AsyncIterable<DatasetItem>): AsyncGenerator<string[], void> {
  let lines: string[] = [];
  for await (const item of items) {
    const { id, input, expectedOutput, metadata, scorerIds } = item;
    lines.push(JSON.stringify({ id, input, expectedOutput, metadata, scorerIds }));
    if (lines.length < piecesAtOnce) continue;
    yield lines;
    lines = [];
  }
  if (lines.length > 0) yield lines;
}
