import { posix } from "node:path";
import { RolloutError } from "../../../base/rollout-error.ts";
import { startDeadline } from "../../../engine/deadline.ts";
import type { OutputSink } from "../../environment.ts";
import type { ExecStream } from "../connection/exec-stream.ts";
import { KubeError } from "../connection/kube-error.ts";
import { FrameReader, type Frame } from "./frame-reader.ts";
import { MarkedOutput } from "./marked-output.ts";
import type { PodShell } from "./pod-shell.ts";
import { mostPieces, planSupervisor, supervisorScript } from "./supervise-script.ts";

const killedCode = 137;
// The mark follows the exit code in a moment, unless the disk was full and the output is lost.
const tailMs = 30_000;
const mostEmptyTries = 3;
const noFiles = Buffer.from("0\0");

export interface CommandEnd {
  readonly exitCode: number;
  readonly outOfMemory: boolean;
  readonly outOfStorage: boolean;
  readonly outOfPids: boolean;
}

/** Files that a supervisor places before it starts its command. */
export interface CommandFiles {
  readonly bytes: Buffer;
  /** Told when they are in place. */
  readonly onPlaced: () => void;
}

export interface SupervisedCommandOptions {
  readonly stem: string;
  /** The words of the command as the supervisor reads them. */
  readonly words: Buffer;
  readonly files: CommandFiles | undefined;
  readonly endMark: string;
  /** How many processes the Pod may have. */
  readonly pids: number | undefined;
  readonly stdout: OutputSink;
  readonly stderr: OutputSink;
}

/** A command that runs in a Pod whether or not we are connected to it. */
export class SupervisedCommand {
  readonly #shell: PodShell;
  readonly #options: SupervisedCommandOptions;
  readonly #outputs: { readonly o: MarkedOutput; readonly e: MarkedOutput };
  readonly #next = { o: 1, e: 1 };
  readonly #acked = { o: 0, e: 0 };
  /** Bytes of the piece under way that were handed on before the connection was lost. */
  readonly #given = { o: 0, e: 0 };
  #isStarted = false;
  #exit: Omit<Frame & { readonly kind: "exit" }, "kind"> | null = null;
  #isGone = false;
  #isUnplaced = false;
  /** How often a connection ended in order and brought nothing. */
  #emptyTries = 0;

  constructor(shell: PodShell, options: SupervisedCommandOptions) {
    this.#shell = shell;
    this.#options = options;
    const { stdout, stderr, endMark } = options;
    this.#outputs = { o: new MarkedOutput(stdout, endMark), e: new MarkedOutput(stderr, endMark) };
  }

  /** True when it has ended and nothing else ran in the Pod then. */
  get hasLeftNothing(): boolean {
    return this.#exit?.isAlone ?? false;
  }

  /** Starts it and hands on all that it prints until it has ended, over as many connections as that takes. */
  async follow(signal: AbortSignal): Promise<CommandEnd | "unplaced"> {
    const { life, clock } = this.#shell.options;
    const leaving = new AbortController();
    const lost = life.whenEnded(leaving.signal).then((end) => {
      if (end.overLimit === null) throw life.lost(end);
      return killedBy(end.overLimit);
    });
    lost.catch(() => {});
    using over = startDeadline({ clock, limitMs: null, parent: signal, what: "" });
    const work = this.#followLong(AbortSignal.any([over.signal, leaving.signal]));
    work.catch(() => {});
    try {
      return await Promise.race([work, lost]);
    } catch (error) {
      // The connection may tell of the end of a Pod before the watch does.
      const end = life.isOver ? await life.whenEnded(signal) : null;
      if (end === null || end.overLimit === null) throw error;
      return killedBy(end.overLimit);
    } finally {
      leaving.abort();
    }
  }

  async #followLong(signal: AbortSignal): Promise<CommandEnd | "unplaced"> {
    for (;;) {
      const before = this.#next.o + this.#next.e;
      await this.#shell.untilHeard(signal, () => this.#connect(signal));
      if (this.#isUnplaced) return "unplaced";
      if (this.#exit !== null && (this.#isGone || this.#isWhole())) break;
      if (this.#isGone && !this.#isStarted) {
        throw new RolloutError("exec_failed", `the command was not started: the Pod keeps no files in ${this.#place}`);
      }
      if (this.#isGone) {
        // Somebody has killed the supervisor with all else.
        this.#exit = { exitCode: killedCode, memoryKills: 0, isAlone: false, isCrowded: false };
        break;
      }
      this.#emptyTries = this.#next.o + this.#next.e === before ? this.#emptyTries + 1 : 0;
      if (this.#emptyTries >= mostEmptyTries) throw new RolloutError("exec_failed", "the command cannot be followed");
    }
    await this.#outputs.o.flush();
    await this.#outputs.e.flush();
    const { exitCode, memoryKills, isCrowded } = this.#exit;
    return { exitCode, outOfMemory: memoryKills > 0, outOfStorage: false, outOfPids: isCrowded };
  }

  get #place(): string {
    return posix.dirname(this.#options.stem);
  }

  #isWhole(): boolean {
    return this.#outputs.o.isEnded && this.#outputs.e.isEnded;
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const { stem, words, files, pids } = this.#options;
    // What was said before the connection was lost may not have been heard.
    const had = { o: Math.max(0, this.#next.o - 1 - mostPieces), e: Math.max(0, this.#next.e - 1 - mostPieces) };
    const options = { stem, next: this.#next, had, mayStart: !this.#isStarted, pids };
    const stream = await this.#shell.open(planSupervisor(options), signal);
    const onAbort = (): void => stream[Symbol.dispose]();
    signal.addEventListener("abort", onAbort, { once: true });
    let isDone = false;
    try {
      const heard = (["o", "e"] as const).map((which) => `${which} ${this.#next[which] - 1}\n`);
      const placed = this.#isStarted || files === undefined ? noFiles : files.bytes;
      await stream.write(Buffer.concat([supervisorScript, words, placed, Buffer.from(heard.join(""))]));
      isDone = await this.#listen(stream, signal);
    } finally {
      signal.removeEventListener("abort", onAbort);
      if (isDone) void leave(stream);
      else stream[Symbol.dispose]();
    }
  }

  // True when all has been heard.
  async #listen(stream: ExecStream, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#shell.options;
    const reader = new FrameReader();
    const skip = { ...this.#given };
    let complaint = "";
    let isCut = false;
    let tail: { clear(): void } | null = null;
    const cut = (): void => {
      isCut = true;
      stream[Symbol.dispose]();
    };
    try {
      for (;;) {
        const part = await stream.next();
        signal.throwIfAborted();
        if (part.kind === "exit") return this.#endedEarly(part.exitCode, complaint);
        if (part.kind === "stderr") {
          complaint = (complaint + part.bytes.toString("utf8")).slice(-1000);
          continue;
        }
        const frames = reader.read(part.bytes);
        if (frames === null) throw new RolloutError("exec_failed", "the command's supervisor makes no sense");
        for (const frame of frames) await this.#take(frame, stream, skip);
        if (this.#isUnplaced || this.#isGone || (this.#exit !== null && this.#isWhole())) return true;
        if (this.#exit !== null) tail ??= clock.startTimer(tailMs, cut);
      }
    } catch (error) {
      if (!isCut) throw error;
      throw new RolloutError("exec_failed", "the end of the command's output is lost: the Pod's disk may be full");
    } finally {
      tail?.clear();
    }
  }

  #endedEarly(exitCode: number, complaint: string): boolean {
    if (this.#isStarted || exitCode === killedCode) return false;
    // A supervisor says at once that it is there: it is its container runtime that has gone.
    if (exitCode === 0) throw new KubeError(null, "the connection ended before anything was heard of the command");
    throw new RolloutError(
      "task_unfit",
      `a command cannot be supervised in this image (exit code ${exitCode}): ${complaint.trim()}`,
      { hint: "use an image that has `bash` and the core tools `env`, `dd`, `cat`, `mkdir`, `rm`, `tar`" },
    );
  }

  async #take(frame: Frame, stream: ExecStream, skip: { o: number; e: number }): Promise<void> {
    if (frame.kind === "started") {
      if (!this.#isStarted) this.#options.files?.onPlaced();
      this.#isStarted = true;
    } else if (frame.kind === "unplaced") this.#isUnplaced = true;
    else if (frame.kind === "gone") this.#isGone = true;
    else if (frame.kind === "exit") this.#exit = frame;
    else {
      const { stream: which, piece, bytes, isLast } = frame;
      // What was handed on of a piece before the connection was lost comes again with it.
      const known = Math.min(skip[which], bytes.length);
      skip[which] -= known;
      this.#given[which] += bytes.length - known;
      await this.#outputs[which].write(bytes.subarray(known));
      if (!isLast) return;
      this.#given[which] = 0;
      skip[which] = 0;
      this.#next[which] = piece + 1;
      if (piece - this.#acked[which] < mostPieces / 4) return;
      this.#acked[which] = piece;
      await stream.write(Buffer.from(`${which} ${piece}\n`));
    }
  }
}

function killedBy(limit: "memory" | "storage"): CommandEnd {
  return { exitCode: killedCode, outOfMemory: limit === "memory", outOfStorage: limit === "storage", outOfPids: false };
}

// The supervisor tidies up behind itself; nobody has to wait for it.
async function leave(stream: ExecStream): Promise<void> {
  try {
    await stream.write(Buffer.from("q\n"));
    while ((await stream.next()).kind !== "exit");
  } catch {
    // It is gone, and so is what it had to tidy up.
  } finally {
    stream[Symbol.dispose]();
  }
}
