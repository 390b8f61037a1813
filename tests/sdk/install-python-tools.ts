import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pythonVersion, requirements, toolsHome } from "./find-python.ts";

const limitMs = 600_000;

/** Installs what the Python SDK is checked with, unless it is there; returns what went wrong, or null. */
export function installPythonTools(): string | null {
  const version = pythonVersion();
  if (version === null) return "there is no python3 >= 3.10 here";
  const home = toolsHome(version);
  const mark = join(home, "installed");
  if (existsSync(mark)) return null;
  // A virtual environment knows its own path, so that it is made in its place; the mark tells a whole one.
  rmSync(home, { recursive: true, force: true });
  mkdirSync(dirname(home), { recursive: true });
  const problem =
    run("python3", ["-m", "venv", home]) ??
    run(join(home, "bin/python"), ["-m", "pip", "install", "--quiet", "-r", requirements]);
  if (problem === null) writeFileSync(mark, "");
  else rmSync(home, { recursive: true, force: true });
  return problem;
}

function run(command: string, args: readonly string[]): string | null {
  const { status, error, stderr } = spawnSync(command, args, { encoding: "utf8", timeout: limitMs });
  if (status === 0) return null;
  return error?.message ?? (stderr.trim().split("\n").at(-1) || `${command} ended with ${status}`);
}
