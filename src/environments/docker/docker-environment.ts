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
import { checkTarget, planPlacements } from "../archive/plan-placements.ts";
import { hasStatus, wrapEngineError } from "./connection/engine-error.ts";
import { ContainerCommands } from "./container-commands.ts";
import type { ContainerLife } from "./container-life.ts";
import type { ContainerRoot } from "./container-root.ts";
import { copyIn } from "./copy-in.ts";
import { copyOut } from "./copy-out.ts";
import type { DockerGround } from "./docker-ground.ts";
import { keptName } from "./list-containers.ts";
import { listContainerProcesses } from "./list-container-processes.ts";
import { logsPath, type LogVolume } from "./log-volume.ts";
import { MemoryKills } from "./memory-kills.ts";
import { removeContainer } from "./remove-container.ts";

const hourMs = 3_600_000;
// What a shell makes of SIGKILL.
const killedCode = 137;

export interface DockerEnvironmentOptions {
  readonly ground: DockerGround;
  /** The container's full id. */
  readonly id: string;
  readonly life: ContainerLife;
  /** Its logs on this machine, when it has them there. */
  readonly logs: LogVolume | null;
  /** Its files as this machine sees them, when it does. */
  readonly root: ContainerRoot | null;
  /** What has to be in place before anybody looks; it travels with the first things that do. */
  readonly pending: readonly Placement[];
  /** Where something stands in a container of that image before the first command. */
  readonly standing: Map<string, boolean>;
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
  readonly #startedMs: number;
  #state: "running" | "frozen" | "halted" | "stopped" | "destroyed" = "running";
  #hasNetwork = true;
  /** How many commands were begun, how many of them run, and how many had been begun when nothing was found to run. */
  #begun = 0;
  #running = 0;
  #begunAtQuiet = 0;
  #holding: Promise<unknown> = Promise.resolve();
  #pending: readonly Placement[];
  #placing: Promise<void> = Promise.resolve();
  /** Everything in it is as the image has it. */
  #isFresh = true;
  #endedMs: number | null = null;
  #removal: Promise<void> | null = null;

  constructor(options: DockerEnvironmentOptions) {
    const { ground, id } = options;
    this.#options = options;
    this.#pending = options.pending;
    this.id = id.slice(0, 12);
    this.workdir = options.workdir;
    this.facts = options.facts;
    this.#commands = new ContainerCommands(ground.engine, id, ground.clock, options.user);
    this.#memoryKills = new MemoryKills(ground, id, this.#commands);
    this.#startedMs = ground.clock.monotonic();
  }

  async exec(request: ExecRequest): Promise<ExecResult> {
    request.signal.throwIfAborted();
    this.#assertRunning();
    await this.#placePending(request.signal);
    this.#begun++;
    this.#isFresh = false;
    return this.#ask("exec_failed", "running a command", request.signal, async () => {
      await this.#holding;
      const { exitCode } = await this.#counted(() => this.#commands.run(request));
      const outOfMemory = exitCode !== 0 && (await this.#memoryKills.areNew());
      if (exitCode === killedCode && !outOfMemory) await this.#options.life.assertSurvived();
      this.#options.life.noteService();
      return { exitCode, signal: null, outOfMemory };
    });
  }

  async copyTo(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertThere();
    // Nobody looks before the next command, and what comes with it may make this cheaper.
    if (this.#options.root === null && items.length > 0 && items.every(({ kind }) => kind === "remove")) {
      for (const { target } of items) checkTarget(target);
      this.#pending = [...this.#pending, ...items];
      return;
    }
    await this.#placing;
    const pending = this.#pending;
    this.#pending = [];
    const placing = this.#ask("copy_failed", "copying into the container", signal, () =>
      this.#place([...pending, ...items], signal),
    );
    if (pending.length > 0) this.#placing = placing.catch(() => {});
    try {
      await placing;
    } catch (error) {
      this.#pending = [...pending, ...this.#pending];
      throw error;
    }
  }

  async copyFrom(request: CopyFromRequest): Promise<CopyReport> {
    const { signal, source } = request;
    signal.throwIfAborted();
    this.#assertThere();
    await this.#placePending(signal);
    const { ground, id, logs } = this.#options;
    return this.#ask("copy_failed", `copying ${source} out of the container`, signal, async () => {
      const report = logs?.holds(source) ? await this.#whileStill(() => logs.copyOut(request), signal) : null;
      if (report !== null) return report;
      try {
        return await copyOut(ground.engine, id, request);
      } catch (error) {
        if (!hasStatus(error, 404)) throw error;
        await this.#options.life.assertAlive();
        throw new RolloutError("not_found", `there is nothing at ${source} in the environment`, { cause: error });
      }
    });
  }

  async listProcesses(signal: AbortSignal): Promise<readonly ProcessInfo[]> {
    signal.throwIfAborted();
    this.#assertThere();
    if (this.#state === "halted") return [];
    const { ground, id } = this.#options;
    return this.#ask("exec_failed", "listing processes", signal, async () => {
      const begun = this.#begun;
      const found = await listContainerProcesses(ground.engine, id, signal);
      if (found.length === 0) this.#begunAtQuiet = begun;
      return found;
    });
  }

  async killProcesses(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertThere();
    if (this.#state === "halted") return;
    const { ground, id } = this.#options;
    await this.#ask("exec_failed", "ending processes", signal, async () => {
      if (this.#state === "frozen") await this.#unpause(signal);
      await this.#commands.endAll(signal).catch((error: unknown) => {
        signal.throwIfAborted();
        ground.log.write("debug", `ending the processes of ${this.id}: ${messageOf(error)}`);
      });
      // Tools of the container may lie; what the engine still sees takes the container with it. Its files stay.
      const begun = this.#begun;
      if ((await listContainerProcesses(ground.engine, id, signal)).length === 0) {
        this.#begunAtQuiet = begun;
        return;
      }
      await this.#commands.halt(signal);
      this.#state = "halted";
    });
  }

  async freeze(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertThere();
    if (this.#state !== "running") return;
    await this.#placePending(signal);
    await this.#ask("exec_failed", "freezing the container", signal, async () => {
      await this.#post("pause", signal);
      this.#state = "frozen";
    });
  }

  async setNetwork(policy: NetworkPolicy, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertRunning();
    if (typeof policy !== "string") throw new RolloutError("unsupported", "the engine has no list of allowed hosts");
    const wanted = policy === "full";
    if (wanted === this.#hasNetwork) return;
    const { ground, id } = this.#options;
    await this.#ask("exec_failed", `setting the network to ${policy}`, signal, async () => {
      const network = ground.config.network ?? (ground.engine.product === "podman" ? "podman" : "bridge");
      await ground.engine.client.text({
        method: "POST",
        path: `/networks/${encodeURIComponent(network)}/${wanted ? "connect" : "disconnect"}`,
        json: wanted ? { Container: id } : { Container: id, Force: true },
        signal,
      });
      this.#hasNetwork = wanted;
    });
  }

  async stop(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#state === "stopped") return;
    this.#assertThere();
    if (this.#state === "running") await this.#placePending(signal);
    const { ground, id } = this.#options;
    await this.#ask("teardown_failed", "stopping the container", signal, async () => {
      await this.#commands.halt(signal);
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
    this.#endedMs ??= this.#options.ground.clock.monotonic();
    const { ground, id } = this.#options;
    this.#removal ??= removeContainer(ground, id, signal).then(() => this.#options.logs?.remove());
    try {
      await this.#removal;
    } catch (error) {
      this.#removal = null;
      signal.throwIfAborted();
      throw wrapEngineError(error, "teardown_failed", `removing the container ${this.id}`);
    }
  }

  cost(): number | null {
    const { clock, config } = this.#options.ground;
    return (config.price_per_hour * ((this.#endedMs ?? clock.monotonic()) - this.#startedMs)) / hourMs;
  }

  enterCommand(): string | null {
    const tool = this.#options.ground.engine.product;
    return `${tool} start ${this.id} && ${tool} exec -it ${this.id} bash`;
  }

  async #place(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    const { ground, id, logs, root, standing } = this.#options;
    if (root !== null && this.#state === "running" && (await root.tryUnlink(items))) return;
    const rest = await this.#placeFromOutside(items, signal);
    if (rest.length === 0) return;
    const known = this.#isFresh ? standing : null;
    this.#isFresh = false;
    this.#begun++;
    await this.#holding;
    const mounted = logs === null ? [] : [logsPath];
    await copyIn(rest, { engine: ground.engine, id, commands: this.#commands, mounted, known, signal });
  }

  async #placePending(signal: AbortSignal): Promise<void> {
    await this.#placing;
    if (this.#pending.length > 0) await this.copyTo([], signal);
  }

  // What this machine can reach itself; gives back the rest.
  async #placeFromOutside(items: readonly Placement[], signal: AbortSignal): Promise<readonly Placement[]> {
    const { logs, root } = this.#options;
    if (logs === null || planPlacements(items, new Set()).length !== 1) return items;
    const goesToLogs = items.some(({ target }) => logs.holds(target));
    if (!goesToLogs && root === null) return items;
    return this.#whileStill(async () => {
      const rest = goesToLogs ? await logs.place(items) : items;
      const isReached = this.#state === "running" && root !== null && (await root.tryPlace(rest, signal));
      return isReached ? [] : rest;
    }, signal);
  }

  // Nothing runs beside the main process, and nothing can begin to but by a command of ours.
  #isIdle(): boolean {
    return this.#running === 0 && this.#begunAtQuiet === this.#begun;
  }

  async #counted<T>(work: () => Promise<T>): Promise<T> {
    this.#running++;
    try {
      return await work();
    } finally {
      this.#running--;
    }
  }

  // Nothing inside may change what is looked at meanwhile.
  #whileStill<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const held = this.#holding.then(async () => {
      if (this.#state !== "running" || this.#isIdle()) return work();
      await this.#post("pause", signal);
      try {
        return await work();
      } finally {
        await this.#post("unpause", new AbortController().signal);
      }
    });
    this.#holding = held.catch(() => {});
    return held;
  }

  async #post(verb: string, signal: AbortSignal): Promise<void> {
    const { ground, id } = this.#options;
    await ground.engine.client.text({ method: "POST", path: `/containers/${id}/${verb}`, signal });
  }

  async #unpause(signal: AbortSignal): Promise<void> {
    await this.#post("unpause", signal);
    this.#state = "running";
  }

  async #ask<T>(code: ErrorCode, what: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      signal.throwIfAborted();
      this.#assertThere();
      const { life } = this.#options;
      if (hasStatus(error, 404, 409) || life.maySayNeverStarted(error)) await life.assertAlive();
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
    if (this.#state === "halted") {
      throw new RolloutError("environment_lost", `${this.id} had to be killed to end what ran in it`, {
        transient: true,
      });
    }
  }

  #assertThere(): void {
    if (this.#state === "destroyed" || this.#state === "stopped") {
      throw new RolloutError("environment_lost", `${this.id} has been ${this.#state}`, { transient: true });
    }
  }
}
