import { RolloutError } from "../../base/rollout-error.ts";
import { startDeadline } from "../../engine/deadline.ts";
import type { OutputSink } from "../environment.ts";
import { demuxOutput } from "./connection/demux-output.ts";
import { EngineError } from "./connection/engine-error.ts";
import type { DockerGround } from "./docker-ground.ts";
import { wasEndedInside } from "./was-ended-inside.ts";

const settleMs = 500;
const pollMs = 50;
const repeatMs = 5000;
const mostWords = 1000;
// What engines make of a command that cannot begin because its container ends, and a shell of SIGKILL.
const dyingCodes: ReadonlySet<number> = new Set([125, 126, 137]);
// The same in rare cases, but far more often a script that lacks a tool.
const notFoundCode = 127;
// What a shell makes of an end by a signal starts here.
const signalCodes = 128;
const never = new AbortController().signal;

/** What an engine says about a container, as far as we care. */
export interface ContainerState {
  readonly Running: boolean;
  /** 0 when it does not run. */
  readonly Pid: number;
  readonly ExitCode: number;
  /** By the engine's own clock. */
  readonly FinishedAt: string;
}

/** Knows whether a container still runs, and tells one that never was of use from one that was lost. */
export class ContainerLife {
  readonly #ground: DockerGround;
  readonly #id: string;
  #hasServed = false;

  constructor(ground: DockerGround, id: string) {
    this.#ground = ground;
    this.#id = id;
  }

  /** To be called when a command has run in it: what ends after that was not a failed start. */
  noteService(): void {
    this.#hasServed = true;
  }

  /** Asks the engine; rejects with an `EngineError`. */
  async read(signal: AbortSignal): Promise<ContainerState> {
    const request = { method: "GET", path: `/containers/${this.#id}/json`, signal } as const;
    return (await this.#ground.engine.client.json<{ State: ContainerState }>(request)).State;
  }

  /**
   * Rejects when the container does not run any more: with `environment_lost`, with `environment_ended` when its own
   * processes did that, with `task_unfit` when it never ran properly.
   */
  async assertAlive(): Promise<void> {
    const state = await this.read(never).catch(() => null);
    if (state?.Running) return;
    if (state) await this.assertStarted(state);
    const how = state ? `has ended by itself with exit code ${state.ExitCode}` : "is gone";
    if (state && (await wasEndedInside(this.#ground.engine, this.#id, state.FinishedAt)))
      throw new RolloutError("environment_ended", `the container ${this.#id.slice(0, 12)} was ended from inside`);
    throw new RolloutError("environment_lost", `the container ${this.#id.slice(0, 12)} ${how}`, { transient: true });
  }

  /** The same after a command that ended with a code which may stand for the end of its container; the engine hears of that one later. */
  async assertSurvived(exitCode: number): Promise<void> {
    if (!dyingCodes.has(exitCode) && (this.#hasServed || exitCode !== notFoundCode)) return;
    for (let waitedMs = 0; waitedMs < settleMs; waitedMs += pollMs) {
      await this.assertAlive();
      await this.#ground.clock.sleep(pollMs, never);
    }
  }

  /** True for what an engine may answer about a container that ended before its first command. */
  maySayNeverStarted(error: unknown): boolean {
    return !this.#hasServed && error instanceof EngineError && error.status !== null;
  }

  /** Rejects with `task_unfit` when the first process ended before any command, other than by a signal from outside. */
  async assertStarted({ Running, ExitCode }: ContainerState): Promise<void> {
    if (Running || this.#hasServed || ExitCode > signalCodes) return;
    const words = await this.#hearAgain().catch(() => "");
    const message = `the container's first process, sleep, ended at once with exit code ${ExitCode}`;
    throw new RolloutError("task_unfit", words === "" ? message : `${message}: ${words}`, {
      hint: "use an image that has `sleep`, which keeps a container alive, and `bash`, which runs the scripts",
    });
  }

  // Nobody listened the first time: containers keep no log of it.
  async #hearAgain(): Promise<string> {
    const { engine, clock } = this.#ground;
    using deadline = startDeadline({ clock, limitMs: repeatMs, parent: null, what: "a second start" });
    const { signal } = deadline;
    let words = "";
    const sink: OutputSink = {
      write: (chunk) => void (words = (words + Buffer.from(chunk).toString("utf8")).slice(-mostWords)),
    };
    const path = `/containers/${this.#id}`;
    const query = { stream: true, stdout: true, stderr: true };
    const stream = await engine.client.hijack({ method: "POST", path: `${path}/attach`, query, signal });
    signal.addEventListener("abort", () => void stream.destroy(), { once: true });
    try {
      await engine.client.text({ method: "POST", path: `${path}/start`, signal });
      await demuxOutput(stream, sink, sink);
    } catch {
      // What was heard until then is what there is.
    } finally {
      stream.destroy();
    }
    return words.trim();
  }
}
