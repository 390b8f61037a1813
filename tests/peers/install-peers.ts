import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { loaderFile, peersHome } from "./find-peers.ts";

const limitMs = 600_000;

/** Installs the libraries that the lock file in `folder` names, unless they are there; returns what went wrong, or null. */
export function installPeers(folder: string): string | null {
  const home = peersHome(folder);
  if (existsSync(join(home, loaderFile))) return null;
  mkdirSync(dirname(home), { recursive: true });
  const staging = mkdtempSync(join(dirname(home), ".staging-"));
  try {
    for (const name of ["package.json", "package-lock.json"]) copyFileSync(join(folder, name), join(staging, name));
    const problem = install(staging);
    if (problem !== null) return problem;
    writeFileSync(join(staging, loaderFile), "export const load = (name) => import(name);\n");
    publish(staging, home);
    return null;
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function install(directory: string): string | null {
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}` };
  const quiet = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
  const options = { cwd: directory, env, encoding: "utf8", timeout: limitMs } as const;
  const { status, error, stderr } = spawnSync("npm", ["install", "--no-save", ...quiet], options);
  if (status === 0) return null;
  return error?.message ?? (stderr.trim().split("\n").at(0) || `npm ended with ${status}`);
}

function publish(staging: string, home: string): void {
  try {
    renameSync(staging, home);
  } catch (error) {
    // Another process may have published the same ones first.
    if (!existsSync(join(home, loaderFile))) throw error;
  }
}
