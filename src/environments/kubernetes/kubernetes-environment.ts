import { messageOf, RolloutError, type ErrorCode } from "../../base/rollout-error.ts";
import type {
  CopyFromRequest,
  CopyReport,
  Environment,
  ExecRequest,
  ExecResult,
  FactValue,
  NetworkPolicy,
  Placement,
  ProcessInfo,
} from "../environment.ts";
import type { ReadGroup } from "./carried-files.ts";
import { PodCommands } from "./commands/pod-commands.ts";
import { isCannotStart, type PodShell } from "./commands/pod-shell.ts";
import type { CommandEnd } from "./commands/supervised-command.ts";
import { wrapKubeError } from "./connection/kube-error.ts";
import type { KubernetesGround } from "./kubernetes-ground.ts";
import { PodFiles } from "./pod-files.ts";
import { setPodNetwork } from "./pods/network-policy.ts";
import { keptLabel } from "./pods/pod-labels.ts";
import type { PodLife } from "./pods/pod-life.ts";
import { removePod } from "./pods/remove-pod.ts";

const hourMs = 3_600_000;

export interface KubernetesEnvironmentOptions {
  readonly ground: KubernetesGround;
  readonly name: string;
  readonly uid: string;
  readonly workdir: string;
  readonly facts: { readonly [key: string]: FactValue };
  readonly shell: PodShell;
  readonly life: PodLife;
  /** How many processes it may have while a command runs. */
  readonly pids: number;
  /** Paths where something is mounted; it can be emptied, and not removed. */
  readonly mounted: readonly string[];
  /** What has to be in place before anybody looks. */
  readonly pending: readonly ReadGroup[];
  /** US dollars for an hour of it. */
  readonly pricePerHour: number;
  /** When it began to cost. */
  readonly startedMs: number;
}

/** A Pod of a cluster. */
export class KubernetesEnvironment implements Environment {
  readonly id: string;
  readonly workdir: string;
  readonly facts: { readonly [key: string]: FactValue };
  readonly #options: KubernetesEnvironmentOptions;
  readonly #commands: PodCommands;
  readonly #files: PodFiles;
  #state: "running" | "stopped" | "destroyed" = "running";
  #endedMs: number | null = null;
  #removal: Promise<void> | null = null;

  constructor(options: KubernetesEnvironmentOptions) {
    this.id = options.name;
    this.workdir = options.workdir;
    this.facts = options.facts;
    this.#options = options;
    this.#commands = new PodCommands(options.shell, options.pids);
    this.#files = new PodFiles(options);
  }

  async exec(request: ExecRequest): Promise<ExecResult> {
    request.signal.throwIfAborted();
    this.#assertThere();
    this.#options.life.noteService();
    return this.#ask("exec_failed", "running a command", request.signal, async () => {
      return { ...(await this.#runWithFiles(request)), signal: null };
    });
  }

  // What was left for later travels with the command, so that both take one connection.
  async #runWithFiles(request: ExecRequest): Promise<CommandEnd> {
    const carried = await this.#files.carryPending();
    if (carried === null) return this.#commands.run(request);
    let isRefused = false;
    try {
      const files = { bytes: carried.bytes, onPlaced: () => carried.settle() };
      const ended = await this.#commands.run(request, files);
      if (ended !== "unplaced") return ended;
      isRefused = true;
    } finally {
      if (!isRefused) carried.settle();
    }
    // Its own tool says what is wrong, or does without what the supervisor lacks.
    await carried.placeOtherwise(request.signal);
    return this.#commands.run(request);
  }

  async copyTo(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertThere();
    await this.#ask("copy_failed", "copying into the Pod", signal, () =>
      // Somebody may be waiting for it.
      this.#files.place(items, this.#commands.areOver, signal),
    );
  }

  async copyFrom(request: CopyFromRequest): Promise<CopyReport> {
    const { signal, source } = request;
    signal.throwIfAborted();
    this.#assertThere();
    const what = `copying ${source} out of the Pod`;
    return this.#ask("copy_failed", what, signal, () => this.#files.copyOut(request));
  }

  async listProcesses(signal: AbortSignal): Promise<readonly ProcessInfo[]> {
    signal.throwIfAborted();
    this.#assertThere();
    return this.#ask("exec_failed", "listing processes", signal, () => this.#commands.list(signal));
  }

  async killProcesses(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertThere();
    await this.#ask("exec_failed", "ending processes", signal, async () => {
      if (await this.#commands.endAll(signal)) return;
      throw new RolloutError("exec_failed", `some processes of ${this.id} cannot be ended`);
    });
  }

  async freeze(): Promise<void> {
    throw new RolloutError("unsupported", "a Pod cannot be frozen");
  }

  async setNetwork(policy: NetworkPolicy, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertThere();
    const { ground, name, uid } = this.#options;
    await this.#ask("exec_failed", "setting the network", signal, () =>
      setPodNetwork(ground, { name, uid }, policy, signal),
    );
  }

  async stop(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#state === "stopped") return;
    this.#assertThere();
    const { ground } = this.#options;
    const path = `${ground.podsPath}/${this.id}`;
    const json = { metadata: { labels: { [keptLabel]: "true" } } };
    await this.#ask("teardown_failed", "keeping the Pod", signal, async () => {
      await ground.client.json({ method: "PATCH", path, json, contentType: "application/merge-patch+json", signal });
      await this.#files.placePending(signal);
      await this.#commands.endAll(signal);
    });
    this.#state = "stopped";
    this.#endedMs ??= ground.clock.monotonic();
  }

  async destroy(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#state = "destroyed";
    const { ground } = this.#options;
    this.#endedMs ??= ground.clock.monotonic();
    this.#removal ??= removePod(ground, this.id, signal);
    try {
      await this.#removal;
    } catch (error) {
      this.#removal = null;
      signal.throwIfAborted();
      throw wrapKubeError(error, "teardown_failed", `removing the Pod ${this.id}`);
    }
    ground.watch.drop(this.id);
  }

  cost(): number | null {
    const { ground, pricePerHour, startedMs } = this.#options;
    return (pricePerHour * ((this.#endedMs ?? ground.clock.monotonic()) - startedMs)) / hourMs;
  }

  enterCommand(): string | null {
    // What leads kubectl here is long, and `rollout enter` knows it.
    return null;
  }

  async #ask<T>(code: ErrorCode, what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      this.#assertThere();
      if (isCannotStart(error)) {
        throw new RolloutError("task_unfit", `${what}: ${messageOf(error)}`, {
          hint: "use an image that has `bash`, `env` and `tar`",
          cause: error,
        });
      }
      const wrapped = wrapKubeError(error, code, what);
      // Nobody knows what became of a Pod whose cluster does not answer.
      if (wrapped instanceof RolloutError && wrapped.transient && wrapped !== error) {
        throw new RolloutError("environment_lost", wrapped.message, { cause: error, transient: true });
      }
      throw wrapped;
    }
  }

  #assertThere(): void {
    if (this.#state !== "running") {
      throw new RolloutError("environment_lost", `${this.id} has been ${this.#state}`, { transient: true });
    }
  }
}
