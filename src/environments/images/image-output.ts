import { noSecrets, type Redactor } from "../../base/redactor.ts";
import type { OutputSink } from "../environment.ts";

const tailBytes = 4000;
const tailLines = 20;

/** Hands what a build or pull says to its log and remembers the end of it. */
export class ImageOutput {
  readonly #sink: OutputSink;
  readonly #redactor: Redactor;
  #tail = "";

  constructor(sink: OutputSink, redactor: Redactor = noSecrets) {
    this.#sink = sink;
    this.#redactor = redactor;
  }

  // A builder hands on what a step wrote at once, so each piece can be looked at by itself.
  async write(said: string): Promise<void> {
    if (said === "") return;
    const text = this.#redactor.text(said);
    this.#tail = (this.#tail + text).slice(-tailBytes);
    await this.#sink.write(Buffer.from(text));
  }

  async say(line: string): Promise<void> {
    await this.write(`${line}\n`);
  }

  /** A line of progress; the bars in between, which come by the hundred, are left out. */
  async sayStatus(event: Readonly<Record<string, unknown>>): Promise<void> {
    if (event["progress"] !== undefined) return;
    const id = typeof event["id"] === "string" ? `${event["id"]}: ` : "";
    await this.say(`${id}${String(event["status"])}`);
  }

  /** The end of what was said so far. */
  get tail(): string {
    return this.#tail;
  }

  /** A message with the last lines that were said. */
  withTail(message: string): string {
    const lines = this.#tail
      .trimEnd()
      .split("\n")
      .slice(-tailLines)
      .filter((line) => line !== "");
    return lines.length === 0 ? message : `${message}\n${lines.join("\n")}`;
  }
}
