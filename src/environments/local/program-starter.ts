import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import type { Host } from "../../base/host.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { ExecResult } from "../environment.ts";
import { starterScript } from "./starter-script.ts";

/** How a program ended. */
export type ProgramEnd = Pick<ExecResult, "exitCode" | "signal">;

/** A program that has begun. */
export interface Program {
  readonly pid: number;
  /** Null as long as it runs. */
  readonly end: ProgramEnd | null;
  readonly ended: Promise<ProgramEnd>;
  kill(): void;
}

/** One end of a pipe of ours that a program gets. */
export interface PipeEnd {
  /** Its name, under which the program's own descriptor is opened. */
  readonly path: string;
  readonly descriptor: number;
  readonly isInput: boolean;
}

export interface ProgramRequest {
  readonly file: string;
  readonly args: readonly string[];
  /** The whole environment; its PATH is where the program is looked for. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  /** What its first descriptors are. When it has them, ours and the names are removed; the other ends are open until then. */
  readonly descriptors: readonly (PipeEnd | null)[];
}

/** A link that somebody else is to own. */
export interface LinkRequest {
  readonly directory: string;
  readonly name: string;
  readonly to: string;
  readonly uid: number;
  readonly gid: number;
}

interface Entry {
  readonly begin: PromiseWithResolvers<Program>;
  readonly finish: PromiseWithResolvers<ProgramEnd>;
  end: ProgramEnd | null;
}

interface Message {
  readonly id: number;
  readonly pid?: number;
  readonly error?: string;
  readonly exitCode?: number | null;
  readonly signal?: NodeJS.Signals | null;
}

interface Helper {
  readonly process: ChildProcess;
  readonly input: Socket;
  readonly output: Socket;
  readonly gone: Promise<void>;
}

export interface StarterOptions {
  readonly host: Pick<Host, "pid" | "execPath" | "env">;
  /** Where tools of the host are looked for. */
  readonly path: string;
}

// Descriptors that whoever started us left open are not for the programs, either.
const closeOthers = `for place in /proc/$$/fd/*; do n=\${place##*/}; [ "$n" -le 2 ] || eval "exec $n>&-"; done; exec "$@"`;

// Less memory to copy at each start.
const flags = ["--max-semi-space-size=1", "--max-old-space-size=64"];

/**
 * Starts programs through a small process of our own. Node copies the whole table of its memory at each start and stands
 * still until the new process is on its way, which takes several times as long for a process that runs a job.
 */
export class ProgramStarter implements AsyncDisposable {
  readonly #options: StarterOptions;
  readonly #entries = new Map<number, Entry>();
  #count = 0;
  #helper: Helper | null = null;

  constructor(options: StarterOptions) {
    this.#options = options;
  }

  /** Starts a program; rejects with `exec_failed`. */
  async start({ descriptors, ...request }: ProgramRequest): Promise<Program> {
    const id = ++this.#count;
    const entry: Entry = { begin: Promise.withResolvers(), finish: Promise.withResolvers(), end: null };
    this.#entries.set(id, entry);
    try {
      this.#send({ id, ...request, descriptors });
      return await entry.begin.promise;
    } finally {
      for (const end of descriptors) {
        if (end === null) continue;
        closeSync(end.descriptor);
        // Never used twice: a process that is left may still hold it.
        rmSync(end.path, { force: true });
      }
    }
  }

  /** Makes a link with somebody else's ids and rights, for root alone; rejects with `exec_failed`. */
  async link(link: LinkRequest): Promise<void> {
    const id = ++this.#count;
    const entry: Entry = { begin: Promise.withResolvers(), finish: Promise.withResolvers(), end: null };
    this.#entries.set(id, entry);
    this.#send({ id, link });
    // It never begins as a program does: what is rejected is why it was not made.
    const refusal = entry.begin.promise.then(
      () => null,
      (error: unknown) => error,
    );
    if ((await entry.finish.promise).exitCode !== 0) throw await refusal;
  }

  /** Where a program that is started finds a directory that we have open. */
  pathOf(descriptor: number): string {
    return `/proc/${this.#options.host.pid}/fd/${descriptor}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const helper = this.#helper;
    if (helper === null) return;
    hold(helper, true);
    helper.process.kill("SIGKILL");
    await helper.gone;
  }

  #send(message: object): void {
    this.#helper ??= this.#open();
    hold(this.#helper, true);
    this.#helper.input.write(`${JSON.stringify(message)}\n`);
  }

  #open(): Helper {
    const { host, path } = this.#options;
    const words = ["setpriv", "--pdeathsig", "KILL", "--", host.execPath, ...flags, "-e", starterScript];
    const args = ["--norc", "-p", "-c", closeOthers, "bash", ...words];
    const env = { ...withoutNodeSettings(host.env), PATH: path };
    const child = spawn("bash", args, { cwd: "/", env, stdio: ["pipe", "pipe", "ignore"], detached: true });
    const { promise: gone, resolve } = Promise.withResolvers<void>();
    child.once("error", () => resolve());
    child.once("exit", () => resolve());
    const helper: Helper = { process: child, input: child.stdin as Socket, output: child.stdout as Socket, gone };
    void gone.then(() => this.#onGone(helper));
    helper.input.on("error", () => {});
    let text = "";
    helper.output.setEncoding("utf8").on("data", (chunk: string) => {
      const lines = (text + chunk).split("\n");
      text = lines.pop() ?? "";
      for (const line of lines) this.#hear(JSON.parse(line) as Message);
      if (this.#entries.size === 0) hold(helper, false);
    });
    return helper;
  }

  #hear({ id, pid, error, exitCode = null, signal = null }: Message): void {
    const entry = this.#entries.get(id);
    if (!entry) return;
    if (pid !== undefined) entry.begin.resolve(this.#describe(id, pid, entry));
    else if (error !== undefined) this.#settle(id, entry, { exitCode: null, signal: null }, error);
    else this.#settle(id, entry, { exitCode, signal }, "it was not seen to begin");
  }

  #describe(id: number, pid: number, entry: Entry): Program {
    return {
      pid,
      get end() {
        return entry.end;
      },
      ended: entry.finish.promise,
      kill: () => {
        if (entry.end === null) this.#send({ kill: id });
      },
    };
  }

  #settle(id: number, entry: Entry, end: ProgramEnd, reason: string): void {
    this.#entries.delete(id);
    entry.end = end;
    entry.finish.resolve(end);
    entry.begin.reject(new RolloutError("exec_failed", reason));
  }

  // Sandboxes end with the process that started them, and what runs in them with these.
  #onGone(helper: Helper): void {
    if (this.#helper !== helper) return;
    this.#helper = null;
    for (const [id, entry] of this.#entries)
      this.#settle(id, entry, { exitCode: null, signal: "SIGKILL" }, "the process that starts programs has ended");
  }
}

function withoutNodeSettings(env: Host["env"]): Host["env"] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith("NODE_")));
}

// It keeps us running as long as a program of it runs.
function hold({ process, input, output }: Helper, isHeld: boolean): void {
  for (const part of [process, input, output]) {
    if (isHeld) part.ref();
    else part.unref();
  }
}
