import { messageOf, RolloutError, type ErrorCode } from "../../base/rollout-error.ts";
import type {
  ChangeReport,
  CopyFromRequest,
  CopyReport,
  Environment,
  ExecRequest,
  ExecResult,
  FactValue,
  ListChangesRequest,
  NetworkPolicy,
  Placement,
  ProcessInfo,
  SnapshotRequest,
} from "../environment.ts";
import type { ToolMarks } from "../integrity/tool-marks.ts";
import { priceOf } from "../price-keys.ts";
import { EngineError, wrapEngineError } from "./connection/engine-error.ts";
import { beginWithPlacing, canBeginWithPlacing, type PlacingCommand } from "./carried/begin-with-placing.ts";
import { listContainerChanges } from "./changes/list-container-changes.ts";
import { ContainerCommands } from "./container-commands.ts";
import { ContainerFiles, type FileWays } from "./container-files.ts";
import type { ContainerLife } from "./container-life.ts";
import { ContainerStillness } from "./container-stillness.ts";
import type { DockerGround } from "./docker-ground.ts";
import type { ImageAnswer } from "./images/image-notes.ts";
import { keptName } from "./list-containers.ts";
import { listContainerProcesses } from "./list-container-processes.ts";
import { MemoryKills } from "./memory-kills.ts";
import { ContainerNetwork } from "./network/container-network.ts";
import { removeContainer } from "./remove-container.ts";
import { saveSnapshot } from "./snapshots/save-snapshot.ts";
import { changedTools } from "./tools/changed-tools.ts";
import type { BorrowContainer, ImageTools } from "./tools/image-tools.ts";

const hourMs = 3_600_000;
const mostPauses = 20;
const pauseAgainMs = 50;
// The engine hears of an unpause twice, the second time from its runtime and late. If it has paused the container again by
// then, it takes the container for a running one and can never unpause it.
const minPauseGapMs = 300;

export interface DockerEnvironmentOptions extends FileWays {
  readonly ground: DockerGround;
  /** The container's full id. */
  readonly id: string;
  /** What it was made from. */
  readonly image: ImageAnswer;
  readonly imageTools: ImageTools;
  /** Lends others of the same image. */
  readonly borrow: BorrowContainer;
  readonly life: ContainerLife;
  readonly workdir: string;
  /** Who commands run as that name nobody. */
  readonly user: string;
  readonly facts: { readonly [key: string]: FactValue };
}

/** A container of an engine. */
export class DockerEnvironment implements Environment {
  readonly id: string;
  readonly workdir: string;
  readonly facts: { readonly [key: string]: FactValue };
  readonly #options: DockerEnvironmentOptions;
  readonly #commands: ContainerCommands;
  readonly #memoryKills: MemoryKills;
  readonly #stillness: ContainerStillness;
  readonly #files: ContainerFiles;
  readonly #network: ContainerNetwork;
  readonly #startedMs: number;
  readonly #tools: ToolMarks | null;
  #state: "running" | "frozen" | "stopped" | "destroyed" = "running";
  #endedMs: number | null = null;
  #removal: Promise<void> | null = null;
  #looking: Promise<unknown> | null = null;
  #unpausedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DockerEnvironmentOptions) {
    const { ground, id } = options;
    const { engine, clock } = ground;
    const isRunning = (): boolean => this.#state === "running" && !commands.isHalted;
    const pause = (signal: AbortSignal): Promise<void> => this.#pause(signal);
    const unpause = (signal: AbortSignal): Promise<void> => this.#postUnpause(signal);
    const commands = new ContainerCommands(engine, id, clock, options.user);
    const stillness = new ContainerStillness({ isRunning, pause, unpause });
    this.id = id.slice(0, 12);
    this.workdir = options.workdir;
    this.facts = options.facts;
    this.#options = options;
    this.#commands = commands;
    this.#stillness = stillness;
    this.#memoryKills = new MemoryKills(ground, id, commands);
    this.#files = new ContainerFiles({ ...options, engine, commands, stillness, isRunning });
    this.#network = new ContainerNetwork(ground, id);
    this.#startedMs = clock.monotonic();
    this.#tools = options.root?.readTools() ?? null;
  }

  async exec(request: ExecRequest): Promise<ExecResult> {
    request.signal.throwIfAborted();
    this.#assertRunning();
    const placing = await this.#beginWithPending(request);
    if (placing === null) await this.#placePending(request.signal);
    this.#files.noteCommand();
    const routed = { ...(placing?.request ?? request), env: { ...request.env, ...this.#network.env } };
    return this.#ask("exec_failed", "running a command", request.signal, async () => {
      const { exitCode } = await this.#stillness.disturb(() => this.#commands.run(routed));
      const refusal = await placing?.findRefusal();
      if (typeof refusal === "string") throw new RolloutError("copy_failed", `copying into the container: ${refusal}`);
      const outOfMemory = await this.#memoryKills.areNew();
      if (!outOfMemory || exitCode === 0) await this.#options.life.assertSurvived(exitCode);
      this.#options.life.noteService();
      return { exitCode, signal: null, outOfMemory };
    });
  }

  async copyTo(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertThere();
    await this.#ask("copy_failed", "copying into the container", signal, () => this.#files.place(items, signal));
  }

  async copyFrom(request: CopyFromRequest): Promise<CopyReport> {
    const { signal, source } = request;
    signal.throwIfAborted();
    this.#assertThere();
    await this.#placePending(signal);
    const what = `copying ${source} out of the container`;
    return this.#ask("copy_failed", what, signal, () => this.#files.copyOut(request));
  }

  async listProcesses(signal: AbortSignal): Promise<readonly ProcessInfo[]> {
    signal.throwIfAborted();
    this.#assertThere();
    if (this.#commands.isHalted) return [];
    return this.#ask("exec_failed", "listing processes", signal, () => this.#look(signal));
  }

  async killProcesses(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertThere();
    if (this.#commands.isHalted) return;
    await this.#ask("exec_failed", "ending processes", signal, async () => {
      if (this.#state === "frozen") await this.#unpause(signal);
      await this.#commands.endAll(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        this.#options.ground.log.write("debug", `ending the processes of ${this.id}: ${messageOf(error)}`);
      });
      // Tools of the container may lie; what the engine still sees takes the container with it. Its files stay.
      if ((await this.#look(signal)).length === 0) return;
      await this.#commands.halt(signal);
    });
  }

  async changedTools(signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    this.#assertThere();
    const tools = { ...this.#options, engine: this.#options.ground.engine, before: this.#tools };
    return this.#ask("exec_failed", "looking at the tools", signal, () => changedTools(tools, signal));
  }

  async listChanges(request: ListChangesRequest): Promise<ChangeReport | null> {
    const { signal } = request;
    signal.throwIfAborted();
    this.#assertThere();
    await this.#placePending(signal);
    const container = { ...this.#options, engine: this.#options.ground.engine };
    return this.#ask("exec_failed", "listing changes", signal, () => listContainerChanges(container, request));
  }

  async freeze(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertThere();
    if (this.#state !== "running" || this.#commands.isHalted) return;
    await this.#placePending(signal);
    await this.#ask("exec_failed", "freezing the container", signal, async () => {
      await this.#pause(signal);
      this.#state = "frozen";
    });
  }

  async setNetwork(policy: NetworkPolicy, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertRunning();
    const what = `setting the network to ${typeof policy === "string" ? policy : "allow"}`;
    await this.#ask("exec_failed", what, signal, () => this.#network.set(policy, signal));
  }

  takeRefused(): readonly string[] {
    return this.#network.takeRefused();
  }

  async snapshot(request: SnapshotRequest): Promise<string | null> {
    const { signal } = request;
    signal.throwIfAborted();
    this.#assertRunning();
    await this.#placePending(signal);
    const { ground, id, image, logs } = this.#options;
    const save = { ...request, id, image, hasLogVolume: logs !== null };
    return this.#ask("copy_failed", "saving the container", signal, () => saveSnapshot(ground, save));
  }

  async stop(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#state === "stopped") return;
    this.#assertThere();
    if (this.#state === "running" && !this.#commands.isHalted) await this.#placePending(signal);
    const { ground, id } = this.#options;
    await this.#ask("teardown_failed", "stopping the container", signal, async () => {
      await this.#commands.halt(signal);
      await this.#network.keep(signal);
      // Labels cannot be changed; a name can, and tells it from a container that ended by itself.
      const query = { name: keptName(id) };
      await ground.engine.client.text({ method: "POST", path: `/containers/${id}/rename`, query, signal });
    });
    this.#options.logs?.keep(this.#options.id);
    this.#state = "stopped";
    this.#endedMs ??= this.#options.ground.clock.monotonic();
  }

  async destroy(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#state = "destroyed";
    this.#network.leave();
    this.#endedMs ??= this.#options.ground.clock.monotonic();
    const { ground, id } = this.#options;
    this.#removal ??= removeContainer(ground, id, signal).then(() => this.#options.logs?.remove());
    try {
      // A container that is still borrowed would outlive a job that is cancelled.
      await Promise.all([this.#removal, this.#looking]);
    } catch (error) {
      this.#removal = null;
      signal.throwIfAborted();
      throw wrapEngineError(error, "teardown_failed", `removing the container ${this.id}`);
    }
  }

  cost(): number | null {
    const { clock, config } = this.#options.ground;
    return (priceOf(config) * ((this.#endedMs ?? clock.monotonic()) - this.#startedMs)) / hourMs;
  }

  enterCommand(): string | null {
    const tool = this.#options.ground.engine.product;
    return `${tool} start ${this.id} && ${tool} exec -it ${this.id} bash`;
  }

  // What waits to be put in place need not be an archive or a command of its own.
  async #beginWithPending(request: ExecRequest): Promise<PlacingCommand | null> {
    const { user, imageTools, borrow } = this.#options;
    if (!this.#files.hasPending || !canBeginWithPlacing(request, request.user ?? user)) return null;
    const { marks } = imageTools;
    const script = marks && (await this.#files.takePending(marks));
    // The first of an image does not wait for the look that others profit from; what goes wrong is told by the next one.
    if (marks === null) this.#looking ??= imageTools.find(borrow).catch(() => {});
    return script === null ? null : beginWithPlacing(request, script);
  }

  #placePending(signal: AbortSignal): Promise<void> {
    return this.#ask("copy_failed", "copying into the container", signal, () => this.#files.placePending(signal));
  }

  #look(signal: AbortSignal): Promise<readonly ProcessInfo[]> {
    const { ground, id } = this.#options;
    return this.#stillness.look(() => listContainerProcesses(ground.engine, id, signal));
  }

  async #post(verb: string, signal: AbortSignal): Promise<void> {
    const { ground, id } = this.#options;
    await ground.engine.client.text({ method: "POST", path: `/containers/${id}/${verb}`, signal });
  }

  // Processes that start others without a rest may slip through the freezer; then it gives up and says so. Where a pause
  // has just ended, the engine may not have heard of it yet.
  async #pause(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options.ground;
    const gapMs = clock.monotonic() - this.#unpausedAt;
    if (gapMs < minPauseGapMs) await clock.sleep(minPauseGapMs - gapMs, signal);
    for (let tries = 1; ; tries++) {
      try {
        return await this.#post("pause", signal);
      } catch (error) {
        if (tries === mostPauses || !/unable to freeze|already paused/.test(messageOf(error))) throw error;
        await clock.sleep(pauseAgainMs, signal);
      }
    }
  }

  async #unpause(signal: AbortSignal): Promise<void> {
    await this.#postUnpause(signal);
    this.#state = "running";
  }

  async #postUnpause(signal: AbortSignal): Promise<void> {
    await this.#post("unpause", signal);
    this.#unpausedAt = this.#options.ground.clock.monotonic();
  }

  async #ask<T>(code: ErrorCode, what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      this.#assertThere();
      if (mayMeanTheEnd(error)) await this.#assertAlive();
      const wrapped = wrapEngineError(error, code, what);
      // Nobody knows what became of a container whose engine does not answer.
      if (wrapped instanceof RolloutError && wrapped.transient && wrapped !== error) {
        throw new RolloutError("environment_lost", wrapped.message, { cause: error, transient: true });
      }
      throw wrapped;
    }
  }

  #assertRunning(): void {
    this.#assertThere();
    if (this.#state === "frozen") throw new RolloutError("exec_failed", `${this.id} is frozen and runs no commands`);
    this.#assertNotHalted();
  }

  async #assertAlive(): Promise<void> {
    this.#assertNotHalted();
    await this.#options.life.assertAlive();
  }

  #assertNotHalted(): void {
    if (!this.#commands.isHalted) return;
    throw new RolloutError("environment_ended", `${this.id} had to be killed to end the processes in it`);
  }

  #assertThere(): void {
    if (this.#state === "destroyed" || this.#state === "stopped") {
      throw new RolloutError("environment_lost", `${this.id} has been ${this.#state}`, { transient: true });
    }
  }
}

// A container that ends makes calls fail in many ways: with a refusal, a broken connection, a tool that was killed.
function mayMeanTheEnd(error: unknown): boolean {
  if (error instanceof EngineError) return true;
  return error instanceof RolloutError && (error.code === "exec_failed" || error.code === "copy_failed");
}
