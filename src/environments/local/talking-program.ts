import { closeSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";
import { RolloutError } from "../../base/rollout-error.ts";
import { readEnd, writeEnd, type Pipe, type PipeStock } from "./pipe-stock.ts";
import type { Program, ProgramEnd, ProgramRequest, ProgramStarter } from "./program-starter.ts";

/** What it takes to start a program and talk with it. */
export interface TalkMeans {
  readonly starter: ProgramStarter;
  readonly pipes: PipeStock;
}

/** Its standard input, its standard error and its descriptor 3. */
type Pipes = readonly [Pipe, Pipe, Pipe];

/** A program that reads from its standard input what we tell it, and answers on descriptor 3. */
export class TalkingProgram {
  readonly program: Program;
  /** Its standard input, which is open as long as we are there. */
  readonly input: Writable;
  /** How it ended, once all that it wrote has arrived. */
  readonly over: Promise<ProgramEnd>;
  readonly #words: Socket;
  #said = "";
  #complaint = "";

  constructor(program: Program, [input, complaint, words]: Pipes) {
    this.program = program;
    this.input = new Socket({ fd: input.writeDescriptor, readable: false, writable: true });
    // It breaks when the program ends, which is told by its end.
    this.input.on("error", () => {});
    void program.ended.then(() => this.input.destroy());
    this.#words = listen(words, (text) => (this.#said += text));
    const complaints = listen(complaint, (text) => (this.#complaint = (this.#complaint + text).slice(-4000)));
    this.over = Promise.all([program.ended, closing(this.#words), closing(complaints)]).then(([end]) => end);
  }

  /** What it wrote to its standard error so far. */
  get complaint(): string {
    return this.#complaint.trim();
  }

  /** What it wrote to descriptor 3 and nobody has taken as a line. */
  get said(): string {
    return this.#said;
  }

  /** Takes the next line that it writes to descriptor 3; rejects when it ends before. */
  async nextLine(signal: AbortSignal): Promise<string> {
    const failed = this.over.then(() => {
      if (this.#said.includes("\n")) return;
      throw new RolloutError("environment_start_failed", this.complaint || "it ended at once");
    });
    failed.catch(() => {});
    while (!this.#said.includes("\n")) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const onAbort = (): void => reject(signal.reason as Error);
      this.#words.once("data", resolve);
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        signal.throwIfAborted();
        await Promise.race([promise, failed]);
      } finally {
        this.#words.off("data", resolve);
        signal.removeEventListener("abort", onAbort);
      }
    }
    const [line = ""] = this.#said.split("\n", 1);
    this.#said = this.#said.slice(line.length + 1);
    return line;
  }

  /** Ends it, and what it may have just started: that does not die with it yet. */
  abandon(): void {
    this.program.kill();
    this.input.destroy();
  }
}

/** Starts a program to talk with; rejects with `exec_failed`. */
export async function startTalking(
  request: Omit<ProgramRequest, "descriptors">,
  pipes: Pipes,
  starter: ProgramStarter,
  output?: Pipe,
): Promise<TalkingProgram> {
  const [input, complaint, words] = pipes;
  const descriptors = [readEnd(input), output ? writeEnd(output) : null, writeEnd(complaint), writeEnd(words)];
  try {
    return new TalkingProgram(await starter.start({ ...request, descriptors }), pipes);
  } catch (error) {
    for (const end of [input.writeDescriptor, complaint.readDescriptor, words.readDescriptor]) closeSync(end);
    throw error;
  }
}

/** Takes the pipes that a talk needs. */
export async function takePipes(stock: PipeStock): Promise<Pipes> {
  return [await stock.take(), await stock.take(), await stock.take()];
}

function listen({ readDescriptor }: Pipe, take: (text: string) => void): Socket {
  const socket = new Socket({ fd: readDescriptor, readable: true, writable: false });
  socket.setEncoding("utf8");
  socket.on("data", (text: string) => take(text));
  socket.on("error", () => {});
  return socket;
}

function closing(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("close", () => resolve()));
}
