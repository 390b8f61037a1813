import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { importBaseImages } from "./base-image.ts";
import { findProgram } from "./install-packages.ts";
import { openTestEngine } from "./open-test-engine.ts";

const startLimitMs = 60_000;

/** A Docker engine of a test's own, which nobody misses while it is down; its containers reach nothing. */
export interface PrivateEngine extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** Ends it as its service manager would, its containers with it, and starts it again. */
  restart(): Promise<void>;
}

/** Why this machine cannot have such an engine; null when it can. */
export function whyNoPrivateEngine(): string | null {
  if (process.getuid?.() !== 0) return "an engine of one's own takes root";
  return findProgram("dockerd") === null ? "dockerd is not installed" : null;
}

/** Starts an engine with a socket and files of its own, and gives it the base images. */
export async function openPrivateEngine(): Promise<PrivateEngine> {
  const directory = mkdtempSync(join(tmpdir(), "rollout-engine-"));
  const env = { DOCKER_HOST: `unix://${join(directory, "docker.sock")}` };
  let daemon = await start(directory, env);
  const engine = await openTestEngine(env);
  await importBaseImages(engine);
  engine.client[Symbol.dispose]();
  return {
    env,
    async restart() {
      await stop(daemon);
      daemon = await start(directory, env);
    },
    async [Symbol.asyncDispose]() {
      await stop(daemon);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function start(directory: string, env: Readonly<Record<string, string>>): Promise<ChildProcess> {
  mkdirSync(directory, { recursive: true });
  const logFile = join(directory, "log");
  const log = openSync(logFile, "a");
  const files = ["--data-root", join(directory, "data"), "--exec-root", join(directory, "exec")];
  const args = [...files, "--pidfile", join(directory, "pid"), "--host", env["DOCKER_HOST"] ?? "", "--group", "root"];
  // In a network of its own: an engine that starts changes bridges and rules that another one needs.
  const words = ["--net", findProgram("dockerd") ?? "dockerd", ...args, "--iptables=false", "--ip6tables=false"];
  const child = spawn("unshare", words, { stdio: ["ignore", log, log] });
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
