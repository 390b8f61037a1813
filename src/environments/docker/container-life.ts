import { RolloutError } from "../../base/rollout-error.ts";
import { startDeadline } from "../../engine/deadline.ts";
import type { OutputSink } from "../environment.ts";
import { demuxOutput } from "./connection/demux-output.ts";
import { hasStatus } from "./connection/engine-error.ts";
import type { DockerGround } from "./docker-ground.ts";
import { hasMainProcess } from "./list-container-processes.ts";
import { wasEndedInside } from "./was-ended-inside.ts";

// The engine may take this long to report the end of a container whose main process is gone.
const settleMs = 10_000;
const pollMs = 50;
const repeatMs = 5000;
const mostWords = 1000;
// Exit codes of a command that cannot start because its container ends, and of SIGKILL.
const dyingCodes: ReadonlySet<number> = new Set([125, 126, 137]);
// The same in rare cases, but far more often a script that lacks a tool.
const notFoundCode = 127;
// What a shell makes of an end by a signal starts here.
const signalCodes = 128;

/** What an engine says about a container, as far as we care. */
export interface ContainerState {
  readonly Running: boolean;
  /** 0 when it does not run. */
  readonly Pid: number;
  readonly ExitCode: number;
  /** By the engine's own clock. */
  readonly FinishedAt: string;
}

// Nothing shows that a container has ended while its engine does not answer.
const unknownState: ContainerState = { Running: true, Pid: 0, ExitCode: 0, FinishedAt: "" };

/** Knows whether a container still runs, and tells one that never was of use from one that was lost. */
export class ContainerLife {
  readonly #ground: Pick<DockerGround, "engine" | "clock">;
  readonly #id: string;
  #hasServed = false;

  constructor(ground: Pick<DockerGround, "engine" | "clock">, id: string) {
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
   * processes did that, with `task_unfit` when it never ran properly. If the main process is gone and the engine has not
   * noticed yet, waits for the engine first. Returns when the engine does not answer.
   */
  async assertAlive(): Promise<void> {
    const { engine, clock } = this.#ground;
    using deadline = startDeadline({ clock, limitMs: settleMs, parent: null, what: "the state of the container" });
    const state = await this.#readSettled(deadline.signal);
    if (state?.Running) return;
    if (state) await this.assertStarted(state);
    const name = `the container ${this.#id.slice(0, 12)}`;
    if (state && (await wasEndedInside(engine, this.#id, state.FinishedAt, clock)))
      throw new RolloutError("environment_ended", `${name} was ended from inside`);
    const how = state ? `has ended by itself with exit code ${state.ExitCode}` : "is gone";
    throw new RolloutError("environment_lost", `${name} ${how}`, { transient: true });
  }

  /** The same after a command that ended with a code which may stand for the end of its container. */
  async assertSurvived(exitCode: number): Promise<void> {
    if (dyingCodes.has(exitCode) || (!this.#hasServed && exitCode === notFoundCode)) await this.assertAlive();
  }

  // The state once the engine and the kernel agree on it; null when there is no such container.
  async #readSettled(signal: AbortSignal): Promise<ContainerState | null> {
    let state: ContainerState = unknownState;
    try {
      for (;;) {
        state = await this.read(signal);
        if (!state.Running || (await hasMainProcess(this.#ground.engine, this.#id, state.Pid, signal))) return state;
        await this.#ground.clock.sleep(pollMs, signal);
      }
    } catch (error) {
      return hasStatus(error, 404) ? null : state;
    }
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
