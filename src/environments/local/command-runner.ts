import { spawn, type ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";
import type { Clock } from "../../base/clock.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import type { ExecResult, OutputSink } from "../environment.ts";
import { planCommand, type CommandUser } from "./command-words.ts";
import type { IdMap } from "./id-map.ts";
import { discardPipe, type PipeStock, startPump, type OutputPump } from "./output-pipes.ts";
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
  readonly #running = new Set<ChildProcess>();
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
    const { bash, clock, pipes, countMemoryKills } = this.#options;
    const { signal } = request;
    const [output, errors] = [await pipes.take(), await pipes.take()];
    await this.#quietWork;
    if (signal.aborted) {
      discardPipe(output);
      discardPipe(errors);
      throw signal.reason;
    }
    const { args, env } = planCommand({ ...this.#options, networkPid: this.networkPid, ...request });
    const killsBefore = countMemoryKills();
    const child = spawn(bash, args, {
      cwd: "/",
      env,
      stdio: [request.feed ? "pipe" : "ignore", output.writeDescriptor, errors.writeDescriptor],
      detached: true,
    });
    this.#running.add(child);
    const pumps = [startPump(output, request.stdout, clock), startPump(errors, request.stderr, clock)];
    try {
      const [ended] = await Promise.all([this.#awaitEnd(child, signal), feedInput(child, request.feed)]);
      await this.#deliver(pumps, child, signal);
      return { ...ended, outOfMemory: countMemoryKills() > killsBefore };
    } finally {
      this.#running.delete(child);
      for (const pump of pumps) pump.drop();
    }
  }

  /** Settles what still waits for processes that are gone; a stopped process of ours would not notice by itself. */
  release(): void {
    for (const child of this.#running) child.kill("SIGKILL");
  }

  async #awaitEnd(child: ChildProcess, signal: AbortSignal): Promise<Omit<ExecResult, "outOfMemory">> {
    const ended = new Promise<Omit<ExecResult, "outOfMemory">>((resolve, reject) => {
      child.once("exit", (exitCode, killer) => resolve({ exitCode, signal: killer }));
      child.once("error", (error) => reject(new RolloutError("exec_failed", messageOf(error), { cause: error })));
    });
    return this.#untilAborted(ended, child, signal);
  }

  async #deliver(pumps: readonly OutputPump[], child: ChildProcess, signal: AbortSignal): Promise<void> {
    const delivered = Promise.all(pumps.map((pump) => pump.finish()));
    await this.#untilAborted(delivered, child, signal);
  }

  // The work's outcome, or the signal's reason once everything the command started has been ended.
  async #untilAborted<T>(work: Promise<T>, child: ChildProcess, signal: AbortSignal): Promise<T> {
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => {
      this.#end(child).then(
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

  async #end(child: ChildProcess): Promise<void> {
    const others = [...this.#running].filter((other) => other !== child).flatMap(({ pid }) => pid ?? []);
    if (others.length === 0) await endProcesses(this.reach);
    else await endProcessesBeside(this.reach, new Set(others));
    await this.#options.clock.sleep(0, new AbortController().signal);
    if (child.exitCode !== null || child.signalCode !== null) return;
    // Held still together with its child, it does not see that one end.
    const timer = this.#options.clock.startTimer(lingerMs, () => child.kill("SIGKILL"));
    await new Promise((resolve) => child.once("exit", resolve));
    timer.clear();
  }
}

async function feedInput(child: ChildProcess, feed: RunRequest["feed"]): Promise<void> {
  const { stdin } = child;
  if (!feed || !stdin) return;
  // A command that does not read to the end is judged by how it ends.
  stdin.on("error", () => {});
  try {
    await feed(stdin);
    stdin.end();
  } catch (error) {
    stdin.destroy();
    throw error;
  }
}
