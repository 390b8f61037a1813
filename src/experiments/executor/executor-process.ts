import { spawn, type ChildProcess } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import type { Clock, Timer } from "../../base/clock.ts";
import type { JsonText } from "../../base/json-text.ts";
import { GatheredBytes } from "../../base/writers/gathered-bytes.ts";
import { LineSplitter, type LineListener } from "../wire/line-splitter.ts";
import { watchGroup } from "./watch-group.ts";

export interface ProcessOptions {
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly clock: Clock;
  /** A line that may hold a message. */
  readonly onLine: LineListener;
  /** A line whose end has not come for a while. Returns how many bytes of it are messages, and read. Default: none. */
  readonly onBegunLine?: ((source: JsonText, from: number, to: number) => number) | undefined;
  /** What is print for certain. */
  readonly onPrint: (stream: "stdout" | "stderr", text: string) => void;
  readonly onOverlong: (words: string) => void;
  /** It has ended, and what it had to say has been heard. */
  readonly onGone: (how: string) => void;
}

const longestLine = 128 * 1024 * 1024;
const longestComplaint = 2000;
// Time to read what an executor wrote before it ended.
const drainMs = 1000;
const idleMs = 100;
// A longer line is read only when it has stopped growing: reading it again and again would cost too much.
const maxGrowingBytes = 1 << 20;
// What is shorter is joined sooner than copied piece by piece.
const longPart = 4096;

/** The process of an executor, with all that it starts: what it says line by line, and its end. */
export class ExecutorProcess {
  readonly #child: ChildProcess;
  readonly #options: ProcessOptions;
  readonly #gone = Promise.withResolvers<string>();
  readonly #unwatch: () => void;
  #complaint = "";
  /** What is to be written at the end of this turn: what is short behind what has gathered. */
  readonly #gathered = new GatheredBytes();
  #unsent = "";
  #isDue = false;
  /** The bytes of the last write may still be needed. */
  #isWriting = false;
  /** It answers on the private channel: what is on its stdout is print, whatever it looks like. */
  #isPrivate = false;
  /** Answers are expected of it: one that closes the stream they come on is ended. */
  isAnswering = false;
  /** Why we ended it. */
  #lostWhy: string | null = null;
  #how: string | null = null;
  #exitCode: number | null = null;

  constructor(options: ProcessOptions) {
    this.#options = options;
    const [program = "", ...args] = options.command;
    this.#child = spawn(program, args, {
      cwd: options.cwd,
      env: { ...options.env, ROLLOUT_PROTOCOL_FD: "3" },
      // An executor that knows of descriptor 3 answers there, out of the way of what is printed.
      stdio: ["pipe", "pipe", "pipe", "pipe"],
      // A group of its own, so that all it started can be ended with it.
      detached: true,
    });
    this.#unwatch = this.#child.pid === undefined ? () => {} : watchGroup(this.#child.pid);
    this.#listen();
  }

  /** Says how it ended, once it has. */
  get gone(): Promise<string> {
    return this.#gone.promise;
  }

  /** How it ended; null while it lives. */
  get how(): string | null {
    return this.#how;
  }

  /** The end of what it wrote to stderr. */
  get complaint(): string {
    return this.#complaint.trim();
  }

  /** Null while it lives, and when a signal ended it. */
  get exitCode(): number | null {
    return this.#exitCode;
  }

  write(line: string): void {
    this.writePart(`${line}\n`);
  }

  /** Less than a line, or more; what is written in one turn of the loop goes out together. */
  writePart(text: string): void {
    if (!this.#isDue) {
      this.#isDue = true;
      process.nextTick(this.#flush);
    }
    this.#unsent += text;
    if (text.length >= longPart) this.#gather();
  }

  endInput(): void {
    this.#gather();
    this.#stdin.end(Buffer.from(this.#gathered.take()));
  }

  async endsWithin(limitMs: number): Promise<void> {
    if (this.#how !== null) return;
    const timer = Promise.withResolvers<void>();
    const handle = this.#options.clock.startTimer(limitMs, () => timer.resolve());
    await Promise.race([this.#gone.promise, timer.promise]);
    handle.clear();
  }

  /** Sends a signal to it and to all it started. */
  signal(name: "SIGTERM" | "SIGKILL"): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, name);
    } catch {
      // Nothing is left of it.
    }
  }

  #gather(): void {
    if (this.#unsent !== "") this.#gathered.add(this.#unsent);
    this.#unsent = "";
  }

  readonly #flush = (): void => {
    this.#isDue = false;
    if (this.#isWriting) return;
    if (this.#gathered.length > 0) return this.#sendGathered();
    const text = this.#unsent;
    this.#unsent = "";
    // The stream copies a text, and nobody has to be told when it is through.
    if (text !== "") this.#stdin.write(text);
  };

  #sendGathered(): void {
    this.#gather();
    this.#isWriting = true;
    this.#stdin.write(this.#gathered.take(), this.#onWritten);
  }

  readonly #onWritten = (): void => {
    this.#isWriting = false;
    if (!this.#isDue) this.#flush();
  };

  get #stdin(): Writable {
    return this.#child.stdin as Writable;
  }

  #listen(): void {
    const { onLine, onOverlong } = this.#options;
    const [, stdout, stderr, channel] = this.#child.stdio as unknown as readonly Readable[];
    const overlong = ({ bytes, head }: { bytes: number; head: string }): void =>
      onOverlong(`a line of ${bytes} bytes, which begins with ${head}`);
    const lines = new LineSplitter(longestLine, onLine, overlong);
    const answers = new LineSplitter(longestLine, onLine, overlong);
    const [watchLines, watchAnswers] = [this.#watchBegun(lines), this.#watchBegun(answers)];
    stdout?.on("data", (chunk: Buffer) => {
      if (this.#isPrivate) return this.#options.onPrint("stdout", chunk.toString("utf8"));
      lines.push(chunk);
      watchLines();
    });
    stdout?.on("end", () => {
      lines.end();
      this.#onAnswersEnd("it closed its stdout and kept running", () => !this.#isPrivate);
    });
    channel?.on("data", (chunk: Buffer) => {
      this.#isPrivate = true;
      answers.push(chunk);
      watchAnswers();
    });
    channel?.on("end", () => {
      answers.end();
      this.#onAnswersEnd("it closed the descriptor of its answers and kept running", () => this.#isPrivate);
    });
    stderr?.on("data", (chunk: Buffer) => this.#complain(chunk.toString("utf8")));
    // They break when the process ends, which is told by its end.
    for (const stream of this.#child.stdio) stream?.on("error", () => {});
    this.#child.on("error", (error) => this.#onGone(`it cannot be started: ${error.message}`));
    // Processes that it left running would keep its streams open.
    this.#child.on("exit", () => {
      this.signal("SIGKILL");
      this.#closeStreamsSoon();
    });
    this.#child.on("close", (code, signal) => {
      this.#exitCode = code;
      this.#onGone(this.#lostWhy ?? `it ended with ${signal ?? `exit code ${code}`}`);
    });
  }

  /** Offers a line whose end does not come: text may go on behind a complete message. */
  #watchBegun(lines: LineSplitter): () => void {
    const { clock, onBegunLine } = this.#options;
    let timer: Timer | null = null;
    const watch = (): void => {
      const { begunBytes } = lines;
      if (begunBytes === 0 || timer !== null || onBegunLine === undefined) return;
      timer = clock.startTimer(idleMs, () => {
        timer = null;
        if (lines.begunBytes === begunBytes || lines.begunBytes <= maxGrowingBytes) lines.offerBegun(onBegunLine);
        else watch();
      });
    };
    return watch;
  }

  /** Ends an executor that can answer no more, unless it ends by itself. */
  #onAnswersEnd(why: string, isInUse: () => boolean): void {
    const timer = this.#options.clock.startTimer(drainMs, () => {
      if (!this.isAnswering || !isInUse()) return;
      this.#lostWhy = why;
      this.signal("SIGKILL");
    });
    void this.#gone.promise.then(() => timer.clear());
  }

  /** Closes the streams if a process in another group keeps them open: "close" would never come. */
  #closeStreamsSoon(): void {
    const timer = this.#options.clock.startTimer(drainMs, () => {
      for (const stream of this.#child.stdio) stream?.destroy();
    });
    void this.#gone.promise.then(() => timer.clear());
  }

  #complain(text: string): void {
    this.#complaint = (this.#complaint + text).slice(-longestComplaint);
    this.#options.onPrint("stderr", text);
  }

  #onGone(how: string): void {
    if (this.#how !== null) return;
    this.#unwatch();
    this.#how = how;
    this.#options.onGone(how);
    this.#gone.resolve(how);
  }
}
