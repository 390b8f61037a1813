import { closeSync } from "node:fs";
import { Socket } from "node:net";
import type { Writable } from "node:stream";
import type { Clock } from "../../base/clock.ts";
import type { ExecResult, OutputSink } from "../environment.ts";
import { planCommand, type CommandUser } from "./command-words.ts";
import type { IdMap } from "./id-map.ts";
import { startPump, type OutputPump } from "./output-pump.ts";
import { discardPipe, readEnd, writeEnd, type Pipe, type PipeStock } from "./pipe-stock.ts";
import type { Program, ProgramStarter } from "./program-starter.ts";
import { endProcesses, endProcessesBeside, findProcesses, type ProcessReach } from "./sandbox-processes.ts";

const lingerMs = 500;

export interface CommandRunnerOptions {
  readonly sandboxPid: number;
  readonly idMap: IdMap;
  readonly path: string;
  readonly bash: string;
  readonly nsenter: string;
  /** Shell text that runs on the host before each command. */
  readonly prelude: string;
  /** How often the memory limit has killed so far. */
  readonly countMemoryKills: () => number;
  readonly pipes: PipeStock;
  readonly starter: ProgramStarter;
  readonly clock: Clock;
  readonly unthrottled: ProcessReach["unthrottled"];
}

export interface RunRequest {
  readonly command: readonly string[];
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly user: CommandUser | null;
  readonly stdout: OutputSink;
  readonly stderr: OutputSink;
  /** Feeds its standard input; closed from the start when absent. */
  readonly feed?: ((input: Writable) => Promise<void>) | undefined;
  readonly signal: AbortSignal;
}

/** Runs commands in a sandbox and knows which of them still run. */
export class CommandRunner {
  readonly #options: CommandRunnerOptions;
  /** Those that are about to begin, too. */
  readonly #running = new Set<Promise<Program>>();
  #quietWork: Promise<void> = Promise.resolve();
  /** A process that holds the network namespace commands run in; null for the host's network. */
  networkPid: number | null = null;

  constructor(options: CommandRunnerOptions) {
    this.#options = options;
  }

  get reach(): ProcessReach {
    return this.#options;
  }

  /** Does work on the files of the sandbox while no process of it can interfere; null when some are there. */
  async whileIdle<T>(work: () => Promise<T>): Promise<T | null> {
    if (this.#running.size > 0 || findProcesses(this.#options.sandboxPid).some((process) => !process.isStopped))
      return null;
    const done = work();
    const settled = done.then(
      () => {},
      () => {},
    );
    this.#quietWork = Promise.all([this.#quietWork, settled]).then(() => {});
    return done;
  }

  /** Runs a command; when the signal is aborted, everything it started is ended before it rejects with the reason. */
  async run(request: RunRequest): Promise<ExecResult> {
    const { clock, pipes, countMemoryKills } = this.#options;
    const { signal, feed } = request;
    const [output, errors, input] = [await pipes.take(), await pipes.take(), feed ? await pipes.take() : null];
    await this.#quietWork;
    if (signal.aborted) {
      for (const pipe of [output, errors, input]) if (pipe) discardPipe(pipe);
      throw signal.reason;
    }
    const killsBefore = countMemoryKills();
    const starting = this.#start(request, input, output, errors);
    this.#running.add(starting);
    let pumps: readonly OutputPump[] = [];
    try {
      const program = await starting;
      pumps = [startPump(output, request.stdout, clock), startPump(errors, request.stderr, clock)];
      const fed = input && feed ? feedInput(input, feed) : null;
      const [ended] = await Promise.all([this.#untilAborted(program.ended, program, signal), fed]);
      await this.#untilAborted(Promise.all(pumps.map((pump) => pump.finish())), program, signal);
      return { ...ended, outOfMemory: countMemoryKills() > killsBefore };
    } finally {
      this.#running.delete(starting);
      for (const pump of pumps) pump.drop();
    }
  }

  /** Settles what still waits for processes that are gone; a stopped process of ours would not notice by itself. */
  release(): void {
    for (const starting of this.#running)
      void starting.then(
        (program) => program.kill(),
        () => {},
      );
  }

  async #start(request: RunRequest, input: Pipe | null, output: Pipe, errors: Pipe): Promise<Program> {
    const { args, env } = planCommand({ ...this.#options, networkPid: this.networkPid, ...request });
    const descriptors = [input && readEnd(input), writeEnd(output), writeEnd(errors)];
    try {
      return await this.#options.starter.start({ file: this.#options.bash, args, env, cwd: "/", descriptors });
    } catch (error) {
      for (const { readDescriptor } of [output, errors]) closeSync(readDescriptor);
      if (input) closeSync(input.writeDescriptor);
      throw error;
    }
  }

  // The work's outcome, or the signal's reason once everything the command started has been ended.
  async #untilAborted<T>(work: Promise<T>, program: Program, signal: AbortSignal): Promise<T> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => {
      this.#end(program).then(
        () => reject(signal.reason as Error),
        (error: unknown) => reject(error as Error),
      );
    };
    work.catch(() => {});
    aborted.catch(() => {});
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    try {
      const value = await Promise.race([work, aborted]);
      return signal.aborted ? await aborted : value;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  async #end(program: Program): Promise<void> {
    const others = await this.#othersThan(program);
    if (others.size === 0) await endProcesses(this.reach);
    else await endProcessesBeside(this.reach, others);
    // Held still together with its child, it does not see that one end.
    const timer = this.#options.clock.startTimer(lingerMs, () => program.kill());
    await program.ended;
    timer.clear();
  }

  async #othersThan(program: Program): Promise<Set<number>> {
    const programs = await Promise.allSettled(this.#running);
    const pids = programs.flatMap((one) => (one.status === "fulfilled" && one.value.end === null ? one.value.pid : []));
    return new Set(pids.filter((pid) => pid !== program.pid));
  }
}

async function feedInput(pipe: Pipe, feed: NonNullable<RunRequest["feed"]>): Promise<void> {
  const input = new Socket({ fd: pipe.writeDescriptor, readable: false, writable: true });
  // A command that does not read to the end is judged by how it ends.
  input.on("error", () => {});
  try {
    await feed(input);
    input.end();
  } catch (error) {
    input.destroy();
    throw error;
  }
}
