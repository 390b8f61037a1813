import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** The other system, installed in the user's cache. */
export interface Peer {
  /** Its orchestrator. */
  readonly command: string;
  /** Its executor of Python files. */
  readonly executor: string;
}

const wanted = "cat-experiments==0.0.13";
const limitMs = 600_000;

/** The other system, installed first when that is asked for; or why there is none. */
export function openPeer(mayInstall: boolean): Peer | string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const home = join(cache, "rollout", "peers", wanted.replace("==", "-"));
  const mark = join(home, "installed");
  if (!existsSync(mark)) {
    if (!mayInstall) return "ROLLOUT_BENCH_INSTALL=1 installs it";
    const problem = install(home);
    if (problem !== null) return `it could not be installed: ${problem}`;
    writeFileSync(mark, "");
  }
  return { command: join(home, "bin/cat-experiments"), executor: join(home, "bin/cat-experiments-executor") };
}

function install(home: string): string | null {
  rmSync(home, { recursive: true, force: true });
  mkdirSync(dirname(home), { recursive: true });
  const problem =
    run("python3", ["-m", "venv", home]) ?? run(join(home, "bin/python"), ["-m", "pip", "install", "--quiet", wanted]);
  if (problem !== null) rmSync(home, { recursive: true, force: true });
  return problem;
}

function run(command: string, args: readonly string[]): string | null {
  const { status, error, stderr } = spawnSync(command, args, { encoding: "utf8", timeout: limitMs });
  if (status === 0) return null;
  return error?.message ?? (stderr.trim().split("\n").at(-1) || `${command} ended with ${status}`);
}
