import { spawnSync } from "node:child_process";
import { accessSync, constants } from "node:fs";

/** The program of that name in the usual places; null when there is none. */
export function findProgram(name: string): string | null {
  for (const directory of ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"]) {
    try {
      accessSync(`${directory}/${name}`, constants.X_OK);
      return `${directory}/${name}`;
    } catch {
      continue;
    }
  }
  return null;
}

/** Installs packages where that is possible, which takes root and apt; gives the reason when it is not. */
export function installPackages(...names: readonly string[]): string | null {
  if (process.getuid?.() !== 0) return "installing it takes root";
  const apt = findProgram("apt-get");
  if (apt === null) return "installing it takes apt";
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const run = (...args: readonly string[]): string | null => {
    const { status, stderr } = spawnSync(apt, args, { env, encoding: "utf8", stdio: ["ignore", "ignore", "pipe"] });
    return status === 0 ? null : stderr.trim().split("\n").at(-1) || `apt-get ended with ${status}`;
  };
  return run("-qq", "update") ?? run("-qq", "-y", "--no-install-recommends", "install", ...names);
}
