import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import type { Clock } from "../../base/clock.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { startDeadline } from "../../engine/deadline.ts";
import type { ExecRequest, OutputSink } from "../environment.ts";
import { demuxOutput } from "./connection/demux-output.ts";
import type { Engine } from "./connection/open-engine.ts";
import { EngineError, hasStatus } from "./connection/engine-error.ts";
import { commandMark, planEndCommand } from "../guest/end-processes.ts";
import { isRoot } from "./is-root.ts";

// Processes that were killed hold their streams open for a moment at most.
const settleMs = 5000;
const endMs = 60_000;
const pollMs = 10;
const slowestPollMs = 200;
// Its output has ended by then, so that the engine knows in a moment, or has lost it.
const exitMs = 10_000;
const resumeStepMs = 20;
const resumeLimitMs = 5000;
const never = new AbortController().signal;

interface ExecState {
  readonly Running: boolean;
  readonly ExitCode: number | null;
}

export interface StartedCommand {
  readonly exitCode: number;
}

export interface ToolOutcome extends StartedCommand {
  readonly output: string;
}

/** Runs commands in one container and ends what they started. */
export class ContainerCommands {
  readonly #engine: Engine;
  readonly #id: string;
  readonly #clock: Clock;
  readonly #defaultUser: string;
  readonly #marks = new Set<string>();
  #isHalted = false;

  /** The user is that of commands which name none. */
  constructor(engine: Engine, id: string, clock: Clock, defaultUser: string) {
    this.#engine = engine;
    this.#id = id;
    this.#clock = clock;
    this.#defaultUser = defaultUser;
  }

  /** Runs a command to its end. When the signal is aborted, all that it started is ended and the reason thrown. */
  async run(request: ExecRequest): Promise<StartedCommand> {
    const { signal } = request;
    signal.throwIfAborted();
    const mark = randomUUID();
    const execId = await this.#create(request, { ...request.env, [commandMark]: mark });
    signal.throwIfAborted();
    this.#marks.add(mark);
    try {
      const stream = await this.#start(execId, never);
      const delivery = this.#deliver(stream, execId, request);
      delivery.catch(() => {});
      const end = (): Promise<void> => this.#end(mark, request.user ?? this.#defaultUser);
      return await this.#untilAborted(delivery, stream, end, signal);
    } finally {
      this.#marks.delete(mark);
    }
  }

  /** Runs a small tool, as root unless it is told otherwise, out of reach of the image's settings, and gives what it printed. */
  async runTool(
    command: readonly string[],
    signal: AbortSignal,
    { user = "0", onStarted = () => {} }: { readonly user?: string; readonly onStarted?: () => void } = {},
  ): Promise<ToolOutcome> {
    const env = {
      [commandMark]: "tool",
      // First where it is seen when a tool is not the image's any more.
      PATH: "/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/sbin:/usr/local/bin",
      LC_ALL: "C",
      BASH_ENV: "",
      LD_PRELOAD: "",
    };
    let output = "";
    const sink: OutputSink = {
      write: (chunk) => void (output = (output + Buffer.from(chunk).toString("utf8")).slice(-8000)),
    };
    const request = { command, env, cwd: "/", user, stdout: sink, stderr: sink, signal };
    const execId = await this.#create(request, env);
    const stream = await this.#start(execId, signal);
    onStarted();
    const onAbort = (): void => void stream.destroy();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      const { exitCode } = await this.#deliver(stream, execId, request);
      return { exitCode, output };
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  /** Ends everything beside the main process; false when something withstood it. */
  async endAll(signal: AbortSignal): Promise<boolean> {
    return (await this.runTool(planEndCommand({ mark: "", isAlone: true, since: "" }), signal)).exitCode === 0;
  }

  async #create(request: ExecRequest, env: Readonly<Record<string, string>>): Promise<string> {
    if (request.command.length === 0) throw new RolloutError("exec_failed", "there is no command to run");
    const exec = {
      method: "POST",
      path: `/containers/${this.#id}/exec`,
      json: {
        AttachStdin: false,
        AttachStdout: true,
        AttachStderr: true,
        Tty: false,
        Cmd: request.command,
        Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
        ...(request.cwd === undefined ? {} : { WorkingDir: request.cwd }),
        ...(request.user === undefined ? {} : { User: request.user }),
      },
      signal: request.signal,
    } as const;
    const { Id } = await this.#onceResumed(() => this.#engine.client.json<{ Id: string }>(exec));
    return Id;
  }

  // The engine hears of a pause from elsewhere and may take note of it when the container runs again already.
  async #onceResumed<T>(ask: () => Promise<T>): Promise<T> {
    for (let waitedMs = 0; ; waitedMs += resumeStepMs) {
      try {
        return await ask();
      } catch (error) {
        if (!hasStatus(error, 409) || !/is paused/.test(messageOf(error)) || waitedMs >= resumeLimitMs) throw error;
        await this.#clock.sleep(resumeStepMs, never);
      }
    }
  }

  #start(execId: string, signal: AbortSignal): Promise<Duplex> {
    const json = { Detach: false, Tty: false };
    const request = { method: "POST", path: `/exec/${execId}/start`, json, signal } as const;
    return this.#onceResumed(() => this.#engine.client.hijack(request));
  }

  async #deliver(stream: Duplex, execId: string, request: ExecRequest): Promise<StartedCommand> {
    try {
      const isWhole = await demuxOutput(stream, request.stdout, request.stderr);
      if (!isWhole) throw new EngineError(null, "the output of the command was cut off");
    } catch (error) {
      if (error instanceof EngineError || error instanceof RolloutError) throw error;
      if (stream.errored === null) throw error;
      throw new EngineError(null, `the connection to the engine was lost: ${stream.errored.message}`, error);
    } finally {
      stream.destroy();
    }
    return { exitCode: await this.#awaitExit(execId) };
  }

  async #awaitExit(execId: string): Promise<number> {
    for (let waitMs = pollMs, waitedMs = 0; ; waitedMs += waitMs, waitMs = Math.min(2 * waitMs, slowestPollMs)) {
      const request = { method: "GET", path: `/exec/${execId}/json`, signal: never } as const;
      const { Running, ExitCode } = await this.#engine.client.json<ExecState>(request);
      if (!Running && ExitCode !== null) return ExitCode;
      if (waitedMs >= exitMs) throw new EngineError(null, "the engine does not say how the command ended");
      await this.#clock.sleep(waitMs, never);
    }
  }

  async #untilAborted(
    delivery: Promise<StartedCommand>,
    stream: Duplex,
    end: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<StartedCommand> {
    const aborted = Promise.withResolvers<null>();
    const onAbort = (): void => aborted.resolve(null);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      const ended = await Promise.race([delivery, aborted.promise]);
      if (ended !== null) return ended;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    await end();
    // A command that still runs shows that the container's tools lie.
    const timers = [
      this.#clock.startTimer(settleMs, () => void this.halt(never).catch(() => {})),
      this.#clock.startTimer(2 * settleMs, () => stream.destroy()),
    ];
    await delivery.catch(() => {});
    for (const timer of timers) timer.clear();
    throw signal.reason;
  }

  // What cannot be ended by name takes the container with it: whoever comes next must find nothing running.
  async #end(mark: string, user: string): Promise<void> {
    const limit = { clock: this.#clock, limitMs: endMs, parent: null, what: "ending processes" };
    using deadline = startDeadline(limit);
    try {
      const isAlone = this.#marks.size === 1;
      let since = "";
      // Even root may not look into another user's processes without further privileges; that user may.
      if (!isRoot(user)) {
        const command = planEndCommand({ mark, isAlone: false, since });
        since = (await this.runTool(command, deadline.signal, { user })).output.trim();
        if (!/^\d*$/.test(since)) since = "";
      }
      const command = planEndCommand({ mark, isAlone, since });
      if ((await this.runTool(command, deadline.signal)).exitCode === 0) return;
    } catch (error) {
      if (hasStatus(error, 404)) return;
    }
    await this.halt(never).catch(() => {});
  }

  /** True once we have killed the container, because something in it could not be ended alone. */
  get isHalted(): boolean {
    return this.#isHalted;
  }

  /** Kills the container itself; its files stay. */
  async halt(signal: AbortSignal): Promise<void> {
    this.#isHalted = true;
    try {
      await this.#engine.client.text({ method: "POST", path: `/containers/${this.#id}/kill`, signal });
    } catch (error) {
      // It is gone, or does not run.
      if (!hasStatus(error, 404, 409)) throw error;
    }
  }
}
