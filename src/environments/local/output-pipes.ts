import { execFile } from "node:child_process";
import { closeSync, constants, mkdirSync, openSync, rmSync, unlinkSync } from "node:fs";
import { Socket } from "node:net";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { promisify } from "node:util";
import type { Clock } from "../../base/clock.ts";
import { freeBytes } from "../../base/free-bytes.ts";
import type { OutputSink } from "../environment.ts";

const batch = 64;
const reserve = 4;
const quietTurns = 3;
const turnMs = 20;

/** One end for a command to write to and one for us to read from. */
export interface OutputPipe {
  readonly writeDescriptor: number;
  readonly readDescriptor: number;
}

/**
 * Makes pipes for the output of commands, many at a time. What Node makes itself are sockets, and `/dev/stdout` of a
 * command cannot be opened again when it is one.
 */
export class PipeStock implements Disposable {
  readonly #directory: string;
  readonly #path: string;
  #made = 0;
  #ready: string[] = [];
  #making: Promise<void> | null = null;

  constructor(directory: string, path: string) {
    this.#directory = directory;
    this.#path = path;
  }

  /** Makes some ahead of time when few are left. */
  async prepare(): Promise<void> {
    if (this.#ready.length < reserve) await (this.#making ??= this.#make().finally(() => (this.#making = null)));
  }

  async take(): Promise<OutputPipe> {
    for (;;) {
      const file = this.#ready.pop();
      if (file !== undefined) return openPipe(file);
      await this.prepare();
    }
  }

  [Symbol.dispose](): void {
    this.#ready = [];
    rmSync(this.#directory, { recursive: true, force: true });
  }

  async #make(): Promise<void> {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const files = Array.from({ length: batch }, () => join(this.#directory, String(++this.#made)));
    // Writable for every user inside; nobody else gets through to them.
    await promisify(execFile)("mkfifo", ["-m", "666", "--", ...files], { env: { PATH: this.#path } });
    this.#ready.push(...files);
  }
}

function openPipe(file: string): OutputPipe {
  // Without waiting for a writer: we are going to be the one who brings it.
  const readDescriptor = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeDescriptor = openSync(file, constants.O_WRONLY);
  // Never used twice: a process that is left may still hold it.
  unlinkSync(file);
  return { readDescriptor, writeDescriptor };
}

/** Gives back a pipe that nobody got to use. */
export function discardPipe({ readDescriptor, writeDescriptor }: OutputPipe): void {
  closeSync(readDescriptor);
  closeSync(writeDescriptor);
}

/** The output of a command on its way to a sink. */
export interface OutputPump {
  /** Resolves when all that the command has written is delivered, also when somebody else holds the pipe open. */
  finish(): Promise<void>;
  /** Drops what comes from now on, so that a daemon that goes on writing is neither blocked nor killed. */
  drop(): void;
}

/** Delivers what arrives in a pipe, holding the writer back when the sink does. */
export function startPump(pipe: OutputPipe, sink: OutputSink, clock: Clock): OutputPump {
  closeSync(pipe.writeDescriptor);
  const socket = new Socket({ fd: pipe.readDescriptor, readable: true, writable: false });
  const state = { chunks: 0, isBusy: false, isOver: false, isDropped: false };
  let failure: { readonly error: unknown } | undefined;
  const pump = async (): Promise<void> => {
    for await (const chunk of socket) {
      state.chunks++;
      if (state.isDropped || failure) continue;
      state.isBusy = true;
      try {
        await sink.write(chunk as Uint8Array);
      } catch (error) {
        failure = { error };
      }
      freeBytes(chunk as Uint8Array);
      state.isBusy = false;
    }
  };
  const running = pump()
    .catch(() => {})
    .finally(() => (state.isOver = true));
  return {
    async finish() {
      const never = new AbortController().signal;
      // What the command wrote is in the pipe already: when we look again and again and find nothing, that was all.
      for (let quiet = 0, seen = state.chunks; !state.isOver && quiet < quietTurns;) {
        await Promise.race([running, clock.sleep(turnMs, never)]);
        await setImmediate();
        await setImmediate();
        quiet = state.isBusy || seen !== state.chunks ? 0 : quiet + 1;
        seen = state.chunks;
      }
      if (failure) throw failure.error;
    },
    drop() {
      state.isDropped = true;
      socket.unref();
    },
  };
}
