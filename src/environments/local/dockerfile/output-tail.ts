import type { OutputSink } from "../../environment.ts";

const mostBytes = 4000;
const mostLines = 20;

/** Hands output on and remembers its end. */
export class OutputTail implements OutputSink {
  readonly #sink: OutputSink;
  #text = "";

  constructor(sink: OutputSink) {
    this.#sink = sink;
  }

  write(chunk: Uint8Array): void | Promise<void> {
    this.#text = (this.#text + Buffer.from(chunk).toString("utf8")).slice(-mostBytes);
    return this.#sink.write(chunk);
  }

  /** The last lines that went through. */
  lines(): string[] {
    return this.#text
      .trimEnd()
      .split("\n")
      .slice(-mostLines)
      .filter((line) => line !== "");
  }
}
