import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

/** Where the Python SDK and its tests are. */
export const sdkHome = join(import.meta.dirname, "../../sdk/python");

/** What the SDK is checked with, one version each. */
export const requirements = join(sdkHome, "tests/requirements.txt");

const versionOf = "import sys; print('.'.join(map(str, sys.version_info[:3]))); sys.exit(sys.version_info < (3, 10))";

/** The version of `python3` when it can run the SDK, else null. */
export function pythonVersion(): string | null {
  const { status, stdout } = spawnSync("python3", ["-c", versionOf], { encoding: "utf8" });
  return status === 0 ? stdout.trim() : null;
}

/** The directory of the tools for that Python and those requirements, in the user's cache. */
export function toolsHome(version: string): string {
  const cache = process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache");
  const wanted = createHash("sha256").update(readFileSync(requirements)).update(version).digest("hex");
  return join(cache, "rollout", "python", wanted.slice(0, 16));
}

/** The Python that has the tools, or why there is none. */
export function findPython(): { readonly python: string } | { readonly why: string } {
  const version = pythonVersion();
  if (version === null) return { why: "there is no python3 >= 3.10 here" };
  const home = toolsHome(version);
  if (!existsSync(join(home, "installed"))) {
    return { why: "its tools are not installed; `CI=true npm test` installs them" };
  }
  return { python: join(home, "bin/python") };
}
