/** The objects of a stream that holds one JSON text after another, as engines send their progress; what is no JSON is left out. */
export async function* readJsonLines(source: AsyncIterable<Uint8Array>): AsyncGenerator<Record<string, unknown>> {
  const decoder = new TextDecoder();
  let held = "";
  for await (const chunk of source) {
    held += decoder.decode(chunk, { stream: true });
    const lines = held.split("\n");
    held = lines.pop() ?? "";
    for (const line of lines) yield* parse(line);
  }
  yield* parse(held);
}

function* parse(line: string): Generator<Record<string, unknown>> {
  if (line.trim() === "") return;
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === "object" && value !== null) yield value as Record<string, unknown>;
  } catch {
    // A line that was cut off says nothing.
  }
}
