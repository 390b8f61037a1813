import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { messageOf } from "../../src/base/rollout-error.ts";
import { importBaseImages } from "./base-image.ts";
import { whyNoHostSystem } from "./host-packages.ts";
import { findProgram, installPackages } from "./install-packages.ts";
import { openTestEngine } from "./open-test-engine.ts";
import { podmanSocketVariable } from "./find-engines.ts";
import { findPostgres, openPrivatePostgres, postgresVariable, type PrivatePostgres } from "./private-postgres.ts";

const room = "/var/lib/rollout-test-engines";
const startLimitMs = 60_000;

/** Engines that were started for the tests; the ones that were found running are nobody's to stop. */
export interface StartedEngines {
  /** Variables that lead the tests to them. */
  readonly env: Readonly<Record<string, string>>;
  /** What could not be had, and why. */
  readonly problems: readonly string[];
  stop(): Promise<void>;
}

interface Daemon {
  readonly pid: number;
  readonly program: string;
}

/** Installs and starts what is missing of Docker, Podman and PostgreSQL, and gives both engines the base images. */
export async function startEngines(): Promise<StartedEngines> {
  const daemons: Daemon[] = [];
  const env: Record<string, string> = {};
  const problems: string[] = [];
  for (const [name, start] of Object.entries({ docker: startDocker, podman: startPodman })) {
    try {
      Object.assign(env, await start(daemons));
    } catch (error) {
      problems.push(`${name}: ${messageOf(error)}`);
    }
  }
  const postgres = await startPostgres().catch((error: unknown) => void problems.push(`postgres: ${messageOf(error)}`));
  if (postgres) env[postgresVariable] = postgres.url;
  return {
    env,
    problems,
    async stop() {
      await postgres?.[Symbol.asyncDispose]();
      await stopDaemons(daemons);
    },
  };
}

async function startPostgres(): Promise<PrivatePostgres | undefined> {
  if (process.env[postgresVariable]) return undefined;
  const problem = findPostgres() === null ? installPackages("postgresql") : null;
  if (findPostgres() === null)
    throw new Error(`it is not installed, and ${problem ?? "the package does not bring it"}`);
  return openPrivatePostgres();
}

async function startDocker(daemons: Daemon[]): Promise<Record<string, string>> {
  if (await answers({})) return prepare({}, {});
  const program = findProgram("dockerd") ?? installed("dockerd", "docker.io", "iptables");
  // A machine's own service may have begun with the installation.
  if (await answers({})) return prepare({}, {});
  const directory = join(room, "docker");
  const socket = join(directory, "docker.sock");
  const env = { DOCKER_HOST: `unix://${socket}` };
  const args = ["--host", env.DOCKER_HOST, "--data-root", join(directory, "data"), "--group", "root"];
  const own = ["--exec-root", join(directory, "exec"), "--pidfile", join(directory, "pid")];
  daemons.push(await startDaemon(program, [...args, ...own], directory, env));
  return prepare(env, env);
}

async function startPodman(daemons: Daemon[]): Promise<Record<string, string>> {
  const found = { DOCKER_HOST: "unix:///run/podman/podman.sock" };
  if (await answers(found)) return prepare(found, {});
  const program = findProgram("podman") ?? installed("podman", "podman", "runc", "iptables");
  const directory = join(room, "podman");
  const socket = join(directory, "podman.sock");
  mkdirSync(directory, { recursive: true });
  rmSync(socket, { force: true });
  const settings = join(directory, "containers.conf");
  // Without a system manager, and with limits that a machine of any size can give.
  const engine = '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "file"\nruntime = "runc"\n';
  writeFileSync(settings, `[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n${engine}`);
  const env = { DOCKER_HOST: `unix://${socket}` };
  const args = ["--root", join(directory, "data"), "--runroot", join(directory, "run"), "system", "service"];
  const all = [...args, "--time", "0", env.DOCKER_HOST];
  daemons.push(await startDaemon(program, all, directory, env, { CONTAINERS_CONF: settings }));
  return prepare(env, { [podmanSocketVariable]: socket });
}

function installed(program: string, ...packages: readonly string[]): string {
  const problem = installPackages(...packages);
  const found = findProgram(program);
  if (found === null) throw new Error(`${program} is not installed, and ${problem ?? "the package does not bring it"}`);
  return found;
}

async function answers(env: Readonly<Record<string, string>>): Promise<boolean> {
  try {
    (await openTestEngine(env)).client[Symbol.dispose]();
    return true;
  } catch {
    return false;
  }
}

async function prepare(
  env: Readonly<Record<string, string>>,
  given: Record<string, string>,
): Promise<Record<string, string>> {
  const engine = await openTestEngine(env);
  try {
    if (whyNoHostSystem() === null) await importBaseImages(engine);
  } finally {
    engine.client[Symbol.dispose]();
  }
  return given;
}

async function startDaemon(
  program: string,
  args: readonly string[],
  directory: string,
  env: Readonly<Record<string, string>>,
  more: Readonly<Record<string, string>> = {},
): Promise<Daemon> {
  if (process.getuid?.() !== 0) throw new Error(`starting ${program} takes root`);
  mkdirSync(directory, { recursive: true });
  const logFile = join(directory, "log");
  const log = openSync(logFile, "w");
  // Podman's helpers leave a file where they stand when the memory limit kills something.
  const options = { cwd: directory, detached: true, env: { ...process.env, ...more } };
  const child = spawn(program, args, { ...options, stdio: ["ignore", log, log] });
  closeSync(log);
  child.unref();
  child.on("error", () => {});
  for (let waitedMs = 0; waitedMs < startLimitMs && child.exitCode === null; waitedMs += 100) {
    if (await answers(env)) return { pid: child.pid ?? 0, program };
    await setTimeout(100);
  }
  child.kill();
  throw new Error(`${program} did not start: ${readFileSync(logFile, "utf8").trim().split("\n").at(-1) ?? ""}`);
}

async function stopDaemons(daemons: readonly Daemon[]): Promise<void> {
  for (const { pid } of daemons) {
    const isAlive = (): boolean => {
      try {
        return process.kill(pid, 0);
      } catch {
        return false;
      }
    };
    if (isAlive()) process.kill(pid, "SIGTERM");
    for (let waitedMs = 0; waitedMs < startLimitMs && isAlive(); waitedMs += 100) await setTimeout(100);
  }
}
