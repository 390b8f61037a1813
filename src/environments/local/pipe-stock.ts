import { closeSync, constants, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { PipeEnd, ProgramStarter } from "./program-starter.ts";

const batch = 64;
const reserve = 8;

/** A pipe between us and a program. */
export interface Pipe {
  readonly path: string;
  readonly writeDescriptor: number;
  readonly readDescriptor: number;
}

export interface PipeStockOptions {
  readonly directory: string;
  readonly path: string;
  readonly starter: ProgramStarter;
}

/**
 * Makes pipes for the input and output of programs, many at a time. What Node makes itself are sockets, and `/dev/stdout`
 * of a command cannot be opened again when it is one.
 */
export class PipeStock implements Disposable {
  readonly #options: PipeStockOptions;
  #made = 0;
  #ready: string[] = [];
  #making: Promise<void> | null = null;

  constructor(options: PipeStockOptions) {
    this.#options = options;
  }

  /** Makes some ahead of time when few are left. */
  async prepare(): Promise<void> {
    if (this.#ready.length < reserve) await (this.#making ??= this.#make().finally(() => (this.#making = null)));
  }

  async take(): Promise<Pipe> {
    for (;;) {
      const file = this.#ready.pop();
      if (file !== undefined) return openPipe(file);
      await this.prepare();
    }
  }

  [Symbol.dispose](): void {
    this.#ready = [];
    rmSync(this.#options.directory, { recursive: true, force: true });
  }

  async #make(): Promise<void> {
    const { directory, path, starter } = this.#options;
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    const files = Array.from({ length: batch }, () => join(directory, String(++this.#made)));
    // Writable for every user inside; nobody else gets through to them.
    const args = ["-m", "666", "--", ...files];
    const { ended } = await starter.start({ file: "mkfifo", args, env: { PATH: path }, cwd: "/", descriptors: [] });
    if ((await ended).exitCode !== 0) throw new RolloutError("exec_failed", `cannot make pipes in ${directory}`);
    this.#ready.push(...files);
  }
}

function openPipe(path: string): Pipe {
  // Without waiting for a writer: we are going to be the one who brings it.
  const readDescriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writeDescriptor = openSync(path, constants.O_WRONLY);
  return { path, readDescriptor, writeDescriptor };
}

/** The end of a pipe for a program that reads. */
export function readEnd({ path, readDescriptor }: Pipe): PipeEnd {
  return { path, descriptor: readDescriptor, isInput: true };
}

/** The end of a pipe for a program that writes. */
export function writeEnd({ path, writeDescriptor }: Pipe): PipeEnd {
  return { path, descriptor: writeDescriptor, isInput: false };
}

/** Gives back a pipe that nobody got to use. */
export function discardPipe({ path, readDescriptor, writeDescriptor }: Pipe): void {
  closeSync(readDescriptor);
  closeSync(writeDescriptor);
  rmSync(path, { force: true });
}
