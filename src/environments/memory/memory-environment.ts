import type { Clock } from "../../base/clock.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { readTree } from "../archive/read-tree.ts";
import { writeTree } from "../archive/write-tree.ts";
import type {
  Capabilities,
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
import type { FaultGate, MemoryOperation } from "./fault-gate.ts";
import { listMemoryChanges } from "./memory-changes.ts";
import { MemoryFileSystem } from "./memory-file-system.ts";
import type { MemoryHandler } from "./memory-handler.ts";
import { MemoryProcessTable } from "./memory-process-table.ts";
import { runMemoryCommand } from "./run-memory-command.ts";

const killed: ExecResult = { exitCode: null, signal: "SIGKILL", outOfMemory: false };
const trialPaths = ["/logs", "/tests", "/oracle"];
const hourMs = 3_600_000;

/** What one environment is made of. */
export interface MemoryEnvironmentOptions {
  readonly id: string;
  readonly name: string;
  readonly image: string;
  readonly workdir: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly handler: MemoryHandler;
  readonly capabilities: Capabilities;
  readonly pricePerHour: number;
  readonly clock: Clock;
  readonly faults: FaultGate;
  /** What it starts with; nothing when absent. */
  readonly files?: MemoryFileSystem | undefined;
  /** Keeps a snapshot of it and gives the reference. */
  readonly onSnapshot: (key: string, files: MemoryFileSystem) => string;
  /** Called once, when it is destroyed. */
  readonly onDestroyed: () => void;
}

/** An environment that holds its files in memory and has a handler answer its commands. */
export class MemoryEnvironment implements Environment {
  readonly id: string;
  readonly workdir: string;
  readonly image: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly facts: { readonly [key: string]: FactValue };
  readonly #options: MemoryEnvironmentOptions;
  readonly #files: MemoryFileSystem;
  /** The files at the start, for `listChanges`. */
  readonly #original: MemoryFileSystem;
  readonly #processes = new MemoryProcessTable();
  readonly #startedMs: number;
  #state: "running" | "stopped" | "destroyed" = "running";
  #endedMs: number | null = null;
  #network: NetworkPolicy = "full";

  constructor(options: MemoryEnvironmentOptions) {
    this.#options = options;
    this.id = options.id;
    this.workdir = options.workdir;
    this.image = options.image;
    this.labels = options.labels;
    this.facts = {
      provider: "memory",
      image: options.image,
      isolation: "none",
      limits: { ...options.capabilities.limits, pids: options.capabilities.limits.pids ?? "none" },
    };
    this.#startedMs = options.clock.monotonic();
    this.#files = new MemoryFileSystem(options.files);
    for (const path of ["/logs", options.workdir]) this.#files.makeDirectory(path, 0o755);
    this.#files.makeDirectory("/tmp", 0o1777);
    this.#original = new MemoryFileSystem(this.#files);
  }

  async exec(request: ExecRequest): Promise<ExecResult> {
    await this.#begin("exec", request.signal);
    request.signal.throwIfAborted();
    if (this.#state === "stopped" || this.#processes.frozen) {
      const state = this.#state === "stopped" ? "stopped" : "frozen";
      throw new RolloutError("exec_failed", `${this.id} is ${state} and runs no commands`);
    }
    const { id, labels, workdir } = this;
    const { handler } = this.#options;
    const machine = {
      id,
      labels,
      workdir,
      files: this.#files,
      processes: this.#processes,
      network: this.#network,
      handler,
    };
    return runMemoryCommand(machine, request);
  }

  async copyTo(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    await this.#begin("copyTo", signal);
    await this.place(items, signal);
  }

  /** Places what a new environment starts with; `copyTo` without its fault point. */
  async place(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    for (const item of items) {
      signal.throwIfAborted();
      if (item.kind === "tree") await this.#files.placeTree(item.target, readTree(item.source, signal), signal);
      else if (item.kind === "file") this.#files.placeFile(item.target, item.content, item.mode);
      else if (item.kind === "directory") this.#files.placeDirectory(item.target, 0o777);
      else if (item.kind === "link") this.#files.placeLink(item.target, item.to);
      else this.#files.remove(item.target);
    }
  }

  async copyFrom(request: CopyFromRequest): Promise<CopyReport> {
    await this.#begin("copyFrom", request.signal);
    return writeTree(this.#files.entries(request.source), request.target, {
      signal: request.signal,
      renames: request.renames,
      limits: request.limits,
    });
  }

  async listProcesses(signal: AbortSignal): Promise<readonly ProcessInfo[]> {
    await this.#begin("list", signal);
    return this.#processes.list();
  }

  async killProcesses(signal: AbortSignal): Promise<void> {
    await this.#begin("kill", signal);
    this.#processes.kill({ result: killed });
  }

  async freeze(signal: AbortSignal): Promise<void> {
    await this.#begin("freeze", signal);
    this.#assertCan("freeze", this.#options.capabilities.freeze);
    this.#processes.freeze();
  }

  async listChanges(request: ListChangesRequest): Promise<ChangeReport | null> {
    await this.#begin("changes", request.signal);
    this.#assertCan("list changes", this.#options.capabilities.changes === true);
    return listMemoryChanges(this.#original, this.#files, request);
  }

  async setNetwork(policy: NetworkPolicy, signal: AbortSignal): Promise<void> {
    await this.#begin("network", signal);
    const kind = typeof policy === "string" ? policy : "allow";
    this.#assertCan("restrict the network", kind === "full" || this.#options.capabilities.network.includes(kind));
    this.#network = policy;
  }

  async snapshot({ key, examine, signal }: SnapshotRequest): Promise<string | null> {
    await this.#begin("snapshot", signal);
    this.#assertCan("be saved", this.#options.capabilities.snapshots === true);
    const files = new MemoryFileSystem(this.#files);
    for (const path of trialPaths) files.remove(path);
    for (const entry of files.entries("/")) {
      const target = entry.type === "symlink" ? [Buffer.from(entry.linkTarget)] : [];
      const body = entry.type === "file" ? entry.body : target;
      if (!(await examine({ path: `/${entry.path}`, body }))) return null;
    }
    return this.#options.onSnapshot(key, files);
  }

  get isKept(): boolean {
    return this.#state === "stopped";
  }

  async stop(signal: AbortSignal): Promise<void> {
    await this.#begin("stop", signal);
    this.#assertCan("stop", this.#options.capabilities.stop);
    this.#end("stopped");
  }

  async destroy(signal: AbortSignal): Promise<void> {
    if (this.#isDestroyed()) return;
    await this.#options.faults("destroy", this.#faultTarget(), signal);
    if (this.#isDestroyed()) return;
    this.#end("destroyed");
    this.#options.onDestroyed();
  }

  cost(): number | null {
    const untilMs = this.#endedMs ?? this.#options.clock.monotonic();
    return (this.#options.pricePerHour * (untilMs - this.#startedMs)) / hourMs;
  }

  enterCommand(): string | null {
    return null;
  }

  async #begin(operation: MemoryOperation, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    this.#assertExists();
    await this.#options.faults(operation, this.#faultTarget(), signal);
    this.#assertExists();
  }

  #faultTarget() {
    return { environment: this.#options.name, image: this.#options.image, labels: this.labels };
  }

  #end(state: "stopped" | "destroyed"): void {
    this.#state = state;
    this.#endedMs ??= this.#options.clock.monotonic();
    this.#processes.kill({ error: lostError(this.id, state) });
  }

  #isDestroyed(): boolean {
    return this.#state === "destroyed";
  }

  #assertExists(): void {
    if (this.#isDestroyed()) throw lostError(this.id, "destroyed");
  }

  #assertCan(what: string, can: boolean): void {
    if (!can) throw new RolloutError("unsupported", `this memory provider cannot ${what}`);
  }
}

function lostError(id: string, state: "stopped" | "destroyed"): RolloutError {
  return new RolloutError("environment_lost", `${id} has been ${state}`, { transient: true });
}
