import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import type { Host } from "../../base/host.ts";
import { messageOf, RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import { findTool } from "../../base/find-tool.ts";
import { planOwnFolder } from "./own-folders.ts";

/** Where an environment sees the tools we use inside it: read-only, and not those that its own processes may replace. */
export const toolboxMount = "/.rollout";

const names = ["setpriv", "env", "cat", "bash", "tar", "rm", "mkdir", "umount"] as const;

export type ToolName = (typeof names)[number];

/** The words that run one of our tools inside an environment, whatever its root file system holds. */
export function toolWords(name: ToolName): readonly string[] {
  return [`${toolboxMount}/loader`, "--library-path", `${toolboxMount}/lib`, `${toolboxMount}/bin/${name}`];
}

interface ToolFiles {
  readonly loader: string;
  /** Where each file comes from, by its place in the toolbox. */
  readonly files: ReadonlyMap<string, string>;
}

export interface ToolboxOptions {
  readonly toolsDir: string;
  /** Where tools of the host are looked for. */
  readonly path: string;
  readonly host: Host;
  readonly signal: AbortSignal;
}

/** Copies the tools with their libraries once for each version of them; rejects with `provider_unavailable`. */
export async function openToolbox({ toolsDir, path, host, signal }: ToolboxOptions): Promise<string> {
  const { loader, files } = await findFiles(path, signal);
  const all = new Map([["loader", loader], ...files]);
  const hash = createHash("sha256");
  for (const [place, source] of all) {
    const { size, mtimeMs } = statSync(source);
    hash.update(`${place}\0${source}\0${size}\0${mtimeMs}\0`);
  }
  const box = join(toolsDir, hash.digest("hex").slice(0, 16));
  if (existsSync(box)) return box;
  const staging = planOwnFolder(box, host);
  mkdirSync(join(staging, "bin"), { recursive: true, mode: 0o755 });
  mkdirSync(join(staging, "lib"), { mode: 0o755 });
  for (const [place, source] of all) {
    copyFileSync(source, join(staging, place));
    chmodSync(join(staging, place), 0o755);
  }
  publish(staging, box);
  return box;
}

/** Moves a finished folder to its name; when another process was faster, that one is as good. */
export function publish(staging: string, target: string): void {
  try {
    renameSync(staging, target);
  } catch (error) {
    const code = systemCodeOf(error);
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
    rmSync(staging, { recursive: true, force: true });
  }
}

async function findFiles(path: string, signal: AbortSignal): Promise<ToolFiles> {
  const tools = new Map(names.map((name) => [`bin/${name}`, requireTool(name, path)]));
  const libraries = await findLibraries([...tools.values()], path, signal);
  const loader = libraries.find(isLoader);
  if (loader === undefined) {
    throw new RolloutError(
      "provider_unavailable",
      "the tools of this machine are not linked against the GNU C library",
      {
        hint: "use environment.type: docker on this machine",
      },
    );
  }
  const files = libraries
    .filter((library) => !isLoader(library))
    .map((library): [string, string] => [`lib/${basename(library)}`, library]);
  return { loader, files: new Map([...tools, ...files]) };
}

function isLoader(library: string): boolean {
  return /^ld(64)?[-.]/.test(basename(library));
}

function requireTool(name: string, path: string): string {
  const file = findTool(name, path);
  if (file !== null) return file;
  throw new RolloutError("provider_unavailable", `the local environment needs the tool ${name}`, {
    hint: "install util-linux, coreutils, tar and bash",
  });
}

async function findLibraries(files: readonly string[], path: string, signal: AbortSignal): Promise<string[]> {
  try {
    const { stdout } = await promisify(execFile)("ldd", files, { env: { PATH: path, LC_ALL: "C" }, signal });
    const found = [...stdout.matchAll(/(?:=>\s+|^\s+)(\/\S+)\s+\(/gm)].flatMap(([, library]) => library ?? []);
    return [...new Set(found)];
  } catch (error) {
    signal.throwIfAborted();
    throw new RolloutError("provider_unavailable", `ldd failed: ${messageOf(error)}`, { cause: error });
  }
}
