import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { isDiskFull } from "../../src/base/rollout-error.ts";
import { importBaseImages } from "./base-image.ts";
import { findProgram } from "./install-packages.ts";
import { openTestEngine } from "./open-test-engine.ts";

const startLimitMs = 60_000;

/** A Docker engine of a test's own, which nobody misses while it is down; its containers reach nothing. */
export interface PrivateEngine extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** Ends it as its service manager would, its containers with it, and starts it again. */
  restart(): Promise<void>;
  /** Leaves no room on its disk, which must be a small one. */
  fillDisk(): void;
}

export interface PrivateEngineOptions {
  /** Gives it a disk of that size in memory, which is gone when it ends. */
  readonly diskBytes?: number;
}

/** Why this machine cannot have such an engine; null when it can. */
export function whyNoPrivateEngine(): string | null {
  if (process.getuid?.() !== 0) return "an engine of one's own takes root";
  return findProgram("dockerd") === null ? "dockerd is not installed" : null;
}

/** Starts an engine with a socket and files of its own, and gives it the base images. */
export async function openPrivateEngine({ diskBytes }: PrivateEngineOptions = {}): Promise<PrivateEngine> {
  const directory = mkdtempSync(join(tmpdir(), "rollout-engine-"));
  const env = { DOCKER_HOST: `unix://${join(directory, "docker.sock")}` };
  let daemon = await start(directory, env, diskBytes);
  const engine = await openTestEngine(env);
  await importBaseImages(engine);
  engine.client[Symbol.dispose]();
  return {
    env,
    async restart() {
      await stop(daemon);
      daemon = await start(directory, env, diskBytes);
    },
    fillDisk() {
      if (diskBytes === undefined) throw new Error("only a small disk is filled");
      fill(join(`/proc/${daemon.pid}/root`, directory, "data", "filler"));
    },
    async [Symbol.asyncDispose]() {
      await stop(daemon);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function start(
  directory: string,
  env: Readonly<Record<string, string>>,
  diskBytes: number | undefined,
): Promise<ChildProcess> {
  const data = join(directory, "data");
  mkdirSync(data, { recursive: true });
  const logFile = join(directory, "log");
  const log = openSync(logFile, "a");
  const files = ["--data-root", data, "--exec-root", join(directory, "exec"), "--pidfile", join(directory, "pid")];
  const args = [
    ...files,
    "--host",
    env["DOCKER_HOST"] ?? "",
    "--group",
    "root",
    "--iptables=false",
    "--ip6tables=false",
  ];
  const disk = diskBytes === undefined ? ":" : `mount -t tmpfs -o size=${diskBytes} tmpfs ${data}`;
  const words = ["sh", "-c", `${disk} && exec "$@"`, "sh", findProgram("dockerd") ?? "dockerd", ...args];
  // In a network of its own: an engine that starts changes bridges and rules that another one needs.
  const child = spawn("unshare", ["--net", "--mount", ...words], { stdio: ["ignore", log, log] });
  closeSync(log);
  for (let waitedMs = 0; waitedMs < startLimitMs && child.exitCode === null; waitedMs += 100) {
    const answer = await openTestEngine(env).catch(() => null);
    answer?.client[Symbol.dispose]();
    if (answer) return child;
    await setTimeout(100);
  }
  child.kill("SIGKILL");
  throw new Error(`dockerd did not start: ${readFileSync(logFile, "utf8").trim().split("\n").at(-1) ?? ""}`);
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  child.kill("SIGTERM");
  await gone;
}

function fill(path: string): void {
  const file = openSync(path, "w");
  try {
    for (let size = 1 << 20; size > 0; size >>= 1) fillWith(file, Buffer.alloc(size));
  } finally {
    closeSync(file);
  }
}

function fillWith(file: number, bytes: Buffer): void {
  try {
    for (;;) writeSync(file, bytes);
  } catch (error) {
    if (!isDiskFull(error)) throw error;
  }
}
