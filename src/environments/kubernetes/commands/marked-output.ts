import type { OutputSink } from "../../environment.ts";
import { MarkFinder } from "./mark-finder.ts";

/** Hands on what comes before a mark and nothing after it: what a daemon prints later is not its command's output. */
export class MarkedOutput {
  readonly #sink: OutputSink;
  readonly #finder: MarkFinder;
  isEnded = false;

  constructor(sink: OutputSink, mark: string) {
    this.#sink = sink;
    this.#finder = new MarkFinder(mark);
  }

  async write(bytes: Buffer): Promise<void> {
    if (this.isEnded) return;
    const { before, after } = this.#finder.take(bytes);
    this.isEnded = after !== null;
    if (before.length > 0) await this.#sink.write(before);
  }

  /** Hands on what looked like the beginning of a mark and was none. */
  async flush(): Promise<void> {
    const rest = this.#finder.rest();
    if (rest.length > 0) await this.#sink.write(rest);
  }
}
