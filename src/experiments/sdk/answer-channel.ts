import { AsyncLocalStorage } from "node:async_hooks";

/** Where an executor reads commands and writes answers. */
export interface ServeChannel {
  readonly input: NodeJS.ReadableStream;
  readonly write: (text: string) => void;
  /** For what is printed where nobody takes it as messages. */
  readonly writeError: (text: string) => void;
  /** Has what user code prints handed over from now on. */
  readonly redirect: (print: (stream: "stdout" | "stderr", text: string) => void) => void;
  /** Has what is still to be written taken when user code ends the process. */
  readonly onExit: (takeUnsent: () => string) => void;
}

/** Writes what an executor says: answers, and what the runs print. */
export class AnswerChannel {
  /** Marked as some orchestrators tell answers from prints; those that name capabilities do not need it. */
  isMarked = true;
  usesLog = false;
  readonly #channel: ServeChannel;
  readonly #runs = new AsyncLocalStorage<string>();
  #ready = "";

  constructor(channel: ServeChannel) {
    this.#channel = channel;
    channel.redirect((stream, text) => this.print(stream, text));
    channel.onExit(() => this.#takeReady());
  }

  /** What is printed meanwhile is this run's. */
  during<T>(runId: string, work: () => T): T {
    return this.#runs.run(runId, work);
  }

  /** Messages that are ready in one turn are written together. */
  say(message: object): void {
    if (this.#ready === "") setImmediate(() => this.flush());
    this.#ready += `${JSON.stringify(this.isMarked ? { __cat__: 1, ...message } : message)}\n`;
  }

  /** Sends what user code printed in the run that is under way. */
  print(stream: "stdout" | "stderr", text: string): void {
    const runId = this.#runs.getStore() ?? null;
    if (this.usesLog) return this.say({ log: { run_id: runId, stream, text } });
    if (runId === null) return this.#channel.writeError(text);
    const lines = (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
    this.#channel.writeError(lines.map((line) => `[${runId}] ${line}\n`).join(""));
  }

  flush(): void {
    const text = this.#takeReady();
    if (text !== "") this.#channel.write(text);
  }

  #takeReady(): string {
    const text = this.#ready;
    this.#ready = "";
    return text;
  }
}
