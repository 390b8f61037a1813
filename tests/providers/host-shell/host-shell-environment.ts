import { execFile } from "node:child_process";
import { chmod, lchown, lstat, mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { RolloutError } from "../../../src/base/rollout-error.ts";
import { readTree } from "../../../src/environments/archive/read-tree.ts";
import { writeTree } from "../../../src/environments/archive/write-tree.ts";
import type {
  CopyFromRequest,
  CopyReport,
  Environment,
  ExecRequest,
  ExecResult,
  Placement,
  ProcessInfo,
} from "../../../src/environments/environment.ts";
import type { Defect } from "./defect.ts";
import { findMarked, isStopped, signalMarked, signalMarkedOnce } from "./marked-processes.ts";
import { runHostCommand } from "./run-host-command.ts";

/** An environment that is nothing but processes of this machine and a directory; for tests of the suite only. */
export class HostShellEnvironment implements Environment {
  readonly id: string;
  readonly workdir: string;
  readonly facts = { provider: "host-shell", isolation: "none" };
  readonly labels: Readonly<Record<string, string>>;
  readonly #defects: ReadonlySet<Defect>;
  readonly #env: Record<string, string>;
  #state: "running" | "stopped" | "destroyed" = "running";
  #execs = 0;

  constructor(id: string, workdir: string, labels: Readonly<Record<string, string>>, defects: ReadonlySet<Defect>) {
    this.id = id;
    this.workdir = workdir;
    this.labels = labels;
    this.#defects = defects;
    this.#env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: workdir };
  }

  async exec(request: ExecRequest): Promise<ExecResult> {
    request.signal.throwIfAborted();
    if (this.#state !== "running") throw this.#lost();
    const env = { ...this.#env, ...request.env };
    if (this.#defects.has("leaks variables")) Object.assign(this.#env, request.env);
    const mark = `${this.id}/${++this.#execs}/`;
    const cwd = request.cwd ?? this.workdir;
    const result = await runHostCommand({ mark, cwd, env, defects: this.#defects }, request);
    // The environment may have been taken away meanwhile.
    if ((this.#state as string) === "destroyed") throw this.#lost();
    return result;
  }

  async copyTo(items: readonly Placement[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#state === "destroyed") throw this.#lost();
    for (const item of items) await this.#place(item, signal);
  }

  async #place(item: Placement, signal: AbortSignal): Promise<void> {
    const { target } = item;
    if (item.kind === "tree") await lstatOrThrow(item.source);
    if (!(item.kind === "tree" && this.#defects.has("merges directories")))
      await rm(target, { recursive: true, force: true });
    if (item.kind === "remove") return;
    await mkdir(dirname(target), { recursive: true });
    if (item.kind === "file") {
      await writeFile(target, item.content);
      await chmod(target, item.mode);
    } else if (item.kind === "directory") {
      await mkdir(target);
      await chmod(target, 0o777);
    } else if (item.kind === "link") {
      await symlink(item.to, target);
    } else {
      await writeTree(readTree(item.source, signal), target, { signal, links: "any" });
      for await (const { path, uid, gid } of readTree(item.source, signal)) await lchown(join(target, path), uid, gid);
    }
  }

  async copyFrom({ source, target, renames, limits, signal }: CopyFromRequest): Promise<CopyReport> {
    signal.throwIfAborted();
    if (this.#state === "destroyed") throw this.#lost();
    await lstatOrThrow(source);
    const kept = this.#defects.has("copies out without limits") ? undefined : limits;
    if (!this.#defects.has("follows links on copy out"))
      return writeTree(readTree(source, signal), target, { signal, renames, limits: kept });
    // It complains about loops and copies the rest.
    await promisify(execFile)("cp", ["-rL", source, target]).catch(() => {});
    return { files: 0, bytes: 0, refused: [] };
  }

  async listProcesses(signal: AbortSignal): Promise<readonly ProcessInfo[]> {
    signal.throwIfAborted();
    return findMarked(`${this.id}/`);
  }

  async killProcesses(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    signalMarkedOnce(`${this.id}/`, "SIGTERM", () => true);
    await this.end();
  }

  async freeze(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#defects.has("forgets to stop on freeze")) return;
    await signalMarked(`${this.id}/`, "SIGSTOP", (pid) => !isStopped(pid));
  }

  async setNetwork(): Promise<void> {
    throw new RolloutError("unsupported", "host-shell has no network policies");
  }

  async stop(): Promise<void> {
    this.#state = "stopped";
    await this.end();
  }

  async destroy(): Promise<void> {
    this.#state = "destroyed";
    await this.end();
    await rm(this.workdir, { recursive: true, force: true });
  }

  /** Ends every process that it ever started, each by its id. */
  async end(): Promise<void> {
    await signalMarked(`${this.id}/`, "SIGKILL", () => true);
  }

  get isKept(): boolean {
    return this.#state === "stopped";
  }

  get isDestroyed(): boolean {
    return this.#state === "destroyed";
  }

  cost(): number | null {
    return 0;
  }

  enterCommand(): string | null {
    return `cd ${this.workdir}`;
  }

  #lost(): RolloutError {
    return new RolloutError("environment_lost", `${this.id} is ${this.#state}`, { transient: true });
  }
}

async function lstatOrThrow(path: string): Promise<void> {
  await lstat(path).catch((cause: unknown) => {
    throw new RolloutError("not_found", `there is nothing at ${path}`, { cause });
  });
}
