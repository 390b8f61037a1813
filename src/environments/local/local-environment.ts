import { join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
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
  ResourceLimits,
  SnapshotRequest,
} from "../environment.ts";
import { priceOf } from "../price-keys.ts";
import { volumePaths } from "./base-system.ts";
import { CommandRunner } from "./command-runner.ts";
import { removeControlGroups, unthrottle, type ControlGroups } from "./control-groups.ts";
import type { ToolMarks } from "../integrity/tool-marks.ts";
import { requireSource } from "../archive/require-source.ts";
import { copyIn } from "./copy-in.ts";
import { copyOut } from "./copy-out.ts";
import { readRecord, writeRecord } from "./environment-records.ts";
import { openIsolatedNetwork, type IsolatedNetwork } from "./isolated-network.ts";
import { listLocalChanges } from "./list-local-changes.ts";
import { planFacts } from "./local-facts.ts";
import type { PreparedGround } from "./local-ground.ts";
import type { Deviation, LocalImage } from "./local-image.ts";
import type { MountPlan } from "./plan-mounts.ts";
import { RootDoor } from "./root-door.ts";
import { describeProcesses, endProcesses, findProcesses, stopProcesses } from "./sandbox-processes.ts";
import type { Sandbox } from "./sandbox.ts";
import { saveSnapshot } from "./snapshots/save-snapshot.ts";
import { findChangedTools } from "./tool-look.ts";
import { findUser } from "./find-user.ts";
import type { ResolvedUser } from "./users.ts";
import { VolumeDoor } from "./volume-door.ts";

const hourMs = 3_600_000;
const mountPoints: ReadonlySet<string> = new Set(volumePaths.map((path) => `/${path}`));

export interface LocalEnvironmentOptions {
  readonly id: string;
  readonly ground: PreparedGround;
  readonly directory: string;
  readonly plan: MountPlan;
  readonly groups: ControlGroups | null;
  readonly sandbox: Sandbox;
  readonly prelude: string;
  readonly image: LocalImage;
  readonly limits: ResourceLimits;
  /** The image's own variables. */
  readonly env: Readonly<Record<string, string>>;
  /** Called once, when it is destroyed. */
  readonly onEnded: (environment: LocalEnvironment) => void;
}

/** A sandbox of this machine. */
export class LocalEnvironment implements Environment {
  readonly id: string;
  readonly workdir: string;
  readonly #options: LocalEnvironmentOptions;
  readonly #runner: CommandRunner;
  readonly #volumes: VolumeDoor;
  readonly #root: RootDoor;
  readonly #startedMs: number;
  readonly #deviations: Deviation[];
  readonly #tools: ToolMarks | null;
  #state: "running" | "frozen" | "stopped" | "destroyed" | "ended" | "lost" = "running";
  #network: IsolatedNetwork | null = null;
  #endedMs: number | null = null;
  #ending: Promise<void> | null = null;

  constructor(options: LocalEnvironmentOptions) {
    const { ground, directory, plan, sandbox, groups } = options;
    this.#options = options;
    this.id = options.id;
    this.workdir = options.image.workdir;
    this.#deviations = [...options.image.deviations];
    this.#startedMs = ground.clock.monotonic();
    const isReachable = ground.config.storage === "disk";
    this.#volumes = new VolumeDoor(directory, isReachable ? plan.volumes : new Map(), ground.idMap);
    this.#root = new RootDoor(sandbox, ground);
    this.#tools = ground.freshTools.of(sandbox, ground.base, options.image.layers);
    this.#runner = new CommandRunner({
      ...ground,
      sandboxPid: sandbox.pid,
      prelude: options.prelude,
      countMemoryKills: () => groups?.countMemoryKills() ?? 0,
      unthrottled: (work) => (groups ? groups.whileUnthrottled(work) : work()),
    });
    void sandbox.gone.then(() => this.#onGone());
  }

  get facts(): { readonly [key: string]: FactValue } {
    const { ground, limits } = this.#options;
    return planFacts(ground, limits, this.#network === null ? "host" : "none", this.#deviations);
  }

  /** The folder that holds its files on the host. */
  get directory(): string {
    return this.#options.directory;
  }

  /** Runs commands in it, for whoever builds with it. */
  get runner(): CommandRunner {
    return this.#runner;
  }

  /** Ends it and leaves its files where they are. */
  async halt(): Promise<void> {
    this.#state = "stopped";
    await this.#end();
  }

  async exec(request: ExecRequest): Promise<ExecResult> {
    request.signal.throwIfAborted();
    this.#assertRunning();
    if (this.#state === "frozen") throw new RolloutError("exec_failed", `${this.id} is frozen and runs no commands`);
    if (request.command.length === 0) throw new RolloutError("exec_failed", "there is no command to run");
    const { user, home } = await this.#findUser(request.user ?? this.#options.image.user, request.signal);
    const env = { HOME: home, ...this.#options.env, ...request.env };
    try {
      const result = await this.#runner.run({ ...request, env, cwd: request.cwd ?? this.workdir, user });
      if (result.exitCode !== 0 && this.#options.sandbox.isEnding()) await this.#options.sandbox.gone;
      this.#assertRunning();
      return result;
    } catch (error) {
      // Whatever it met on the way out, the reason is that there is nothing left to run in.
      if (!request.signal.aborted) this.#assertRunning();
      throw error;
    }
  }

  async copyTo(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertRunning();
    for (const item of items) if (item.kind === "tree") await requireSource(item.source);
    const left = (await this.#runner.whileIdle(() => this.#placeFromOutside(items, signal))) ?? items;
    if (left.length === 0) return;
    const hasOwners = this.#options.ground.capabilities.owners;
    await copyIn(this.#runner, left, mountPoints, hasOwners, signal);
    this.#assertRunning();
  }

  async copyFrom(request: CopyFromRequest): Promise<CopyReport> {
    request.signal.throwIfAborted();
    this.#assertRunning();
    if (this.#volumes.leadsTo(request.source)) {
      const report = await this.#runner.whileIdle(() => this.#volumes.copyOut(request));
      if (report !== null) return report;
    }
    return copyOut(this.#runner, request);
  }

  async listProcesses(signal: AbortSignal): Promise<readonly ProcessInfo[]> {
    signal.throwIfAborted();
    this.#assertRunning();
    return describeProcesses(this.#options.sandbox.pid);
  }

  async killProcesses(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertRunning();
    await endProcesses(this.#runner.reach);
    this.#assertRunning();
  }

  async freeze(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertRunning();
    await stopProcesses(this.#runner.reach);
    this.#state = "frozen";
  }

  async changedTools(signal: AbortSignal): Promise<readonly string[]> {
    signal.throwIfAborted();
    this.#assertRunning();
    if (this.#tools === null) return [];
    const { ground, directory, sandbox } = this.#options;
    const disk = ground.config.storage === "disk" ? join(directory, "disk") : null;
    return findChangedTools({ sandbox, base: ground.base, fresh: this.#tools, disk });
  }

  async listChanges(request: ListChangesRequest): Promise<ChangeReport | null> {
    request.signal.throwIfAborted();
    this.#assertRunning();
    return listLocalChanges(this.#options, request);
  }

  async freeBytes(signal: AbortSignal): Promise<number | null> {
    signal.throwIfAborted();
    this.#assertRunning();
    const { ground, sandbox } = this.#options;
    return ground.config.storage === "memory" ? sandbox.freeBytes() : null;
  }

  async setNetwork(policy: NetworkPolicy, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertRunning();
    const { ground, sandbox } = this.#options;
    const isNone = policy === "none";
    if (typeof policy !== "string")
      throw new RolloutError("unsupported", "a local environment has no list of allowed hosts");
    if (isNone === (this.#runner.networkPid !== null)) return;
    if (findProcesses(sandbox.pid).length > 0) {
      this.#deviations.push({
        asked: `network ${policy}`,
        done: "processes that ran before keep the network they had, and do not share the loopback device with later ones",
      });
    }
    if (isNone) this.#network ??= await openIsolatedNetwork({ ...ground, sandboxPid: sandbox.pid, signal });
    this.#runner.networkPid = isNone ? (this.#network?.pid ?? null) : null;
  }

  async snapshot(request: SnapshotRequest): Promise<string | null> {
    request.signal.throwIfAborted();
    this.#assertRunning();
    const { ground, image, directory, plan } = this.#options;
    if (ground.capabilities.snapshots !== true)
      throw new RolloutError("unsupported", "what an environment holds in memory cannot be saved");
    return saveSnapshot(ground, image, { ...request, disk: join(directory, "disk"), volumes: plan.volumes });
  }

  async stop(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#state === "stopped") return;
    this.#assertRunning();
    const { directory, ground } = this.#options;
    if (!ground.capabilities.stop)
      throw new RolloutError("unsupported", "what an environment holds in memory cannot be kept");
    this.#state = "stopped";
    await this.#end();
    const record = readRecord(directory);
    if (record) writeRecord(directory, { ...record, state: "kept", first: null, groups: [] });
  }

  async destroy(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#state = "destroyed";
    await this.#end();
    this.#options.ground.trash.throwAway(this.#options.directory);
    this.#options.onEnded(this);
  }

  cost(): number | null {
    const untilMs = this.#endedMs ?? this.#options.ground.clock.monotonic();
    return (priceOf(this.#options.ground.config) * (untilMs - this.#startedMs)) / hourMs;
  }

  enterCommand(): string | null {
    return null;
  }

  /** Places things without a process inside as long as that goes, and returns those that are left. */
  async #placeFromOutside(items: readonly Placement[], signal: AbortSignal): Promise<readonly Placement[]> {
    for (const [index, item] of items.entries()) {
      signal.throwIfAborted();
      if (this.#volumes.leadsTo(item.target)) await this.#volumes.place(item, signal);
      else if (!(await this.#root.tryPlace(item))) return items.slice(index);
    }
    return [];
  }

  #end(): Promise<void> {
    this.#endedMs ??= this.#options.ground.clock.monotonic();
    this.#ending ??= this.#endOnce();
    return this.#ending;
  }

  async #endOnce(): Promise<void> {
    const { sandbox, groups, ground } = this.#options;
    const ending = Promise.all([sandbox.kill(), this.#network?.close()]);
    // Only now: what has been killed is to die at once, and nothing is to run faster before.
    if (groups) unthrottle(groups.directories);
    await ending;
    if (groups) await removeControlGroups(groups.directories, ground.clock);
  }

  #onGone(): void {
    if (this.#state === "running" || this.#state === "frozen") this.#state = this.#wasEndedInside() ? "ended" : "lost";
    this.#endedMs ??= this.#options.ground.clock.monotonic();
    this.#runner.release();
  }

  // No process inside can end the first one, except through the memory limit that all of them share.
  #wasEndedInside(): boolean {
    return (this.#options.groups?.countMemoryKills() ?? 0) > 0;
  }

  async #findUser(name: string, signal: AbortSignal): Promise<ResolvedUser> {
    if (name === "" || name === "root" || name === "0") return { user: null, home: "/root" };
    if (!this.#options.ground.capabilities.users) {
      throw new RolloutError("unsupported", `commands can only run as root here, not as ${name}`, {
        hint: "install newuidmap (package uidmap) and give this user a range in /etc/subuid and /etc/subgid, or run as root",
      });
    }
    return findUser(this.#runner, name, signal);
  }

  #assertRunning(): void {
    if (this.#state === "running" || this.#state === "frozen") return;
    if (this.#state === "ended")
      throw new RolloutError("environment_ended", `${this.id} was ended by its own memory limit`);
    const how = this.#state === "lost" ? "has ended by itself" : `has been ${this.#state}`;
    throw new RolloutError("environment_lost", `${this.id} ${how}`, { transient: true });
  }
}
