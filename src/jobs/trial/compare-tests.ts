import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Environment } from "../../environments/environment.ts";
import { callEnvironment } from "./call-environment.ts";
import { mostCopiedEntries } from "./limits.ts";
import type { TryState } from "./try-state.ts";

// Larger files are data; nobody forges a test in them.
const maxComparedBytes = 4 << 20;
const maxNamedFiles = 3;
// Test runners and interpreters load files with these names without being asked.
const loadedNames = /\.(?:py|pyc|so|pth|cfg|ini|toml)$/i;
const nameSign = /[\w.-]/;
// Test runners and interpreters load nothing from these by themselves.
const ownFolders = /^(?:\..*|__pycache__|node_modules|.*\.(?:dist|egg)-info)$/;

/** Marks a trial as untrusted if a process that the agent left running changed, added or removed tests while they ran. */
export async function compareTests(state: TryState, environment: Environment): Promise<void> {
  const { context, task, paths, resources } = state;
  const source = join(task.directory, "tests");
  const staging = await mkdtemp(join(paths.dir, ".tests-"));
  try {
    const target = join(staging, "tests");
    const limits = { entries: mostCopiedEntries, bytes: resources.storageBytes };
    await callEnvironment(context, "comparing the tests", (signal) =>
      environment.copyFrom({ source: "/tests", target, limits, signal }),
    );
    const { changed, added } = await compareFolders(source, target);
    if (changed.length > 0) state.distrust(`something that the agent left running changed the tests: ${list(changed)}`);
    if (added.length > 0)
      state.distrust(`something that the agent left running may have added to the tests: ${list(added)}`);
  } catch (error) {
    if (!(error instanceof RolloutError && error.code === "not_found")) throw error;
    state.distrust("something that the agent left running removed the tests");
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

function list(paths: readonly string[]): string {
  return paths.slice(0, maxNamedFiles).join(", ");
}

interface Differences {
  readonly changed: readonly string[];
  readonly added: readonly string[];
}

async function compareFolders(source: string, copy: string): Promise<Differences> {
  const changed: string[] = [];
  const contents: Buffer[] = [];
  const before = await listFiles(source);
  for (const path of before) {
    const [content, after] = await Promise.all([readSmall(join(source, path)), readSmall(join(copy, path))]);
    if (content !== null) contents.push(content);
    if (content !== null && (after === null || !content.equals(after))) changed.push(`/tests/${path}`);
  }
  const known = new Set(before);
  const candidates = (await listFiles(copy)).filter((path) => !known.has(path) && loadedNames.test(path));
  const own = await findVirtualEnvironments(copy, candidates);
  // A file that the tests name is one that they write themselves.
  const isOwn = (path: string): boolean =>
    own.some((folder) => path.startsWith(`${folder}/`)) || contents.some((content) => hasName(content, basename(path)));
  return { changed, added: candidates.filter((path) => !isOwn(path)).map((path) => `/tests/${path}`) };
}

/** True if a text has the name of a file, and not as a part of a longer name. */
function hasName(text: Buffer, name: string): boolean {
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + 1)) {
    const around = [text[at - 1], text[at + Buffer.byteLength(name)]];
    if (!around.some((byte) => byte !== undefined && nameSign.test(String.fromCharCode(byte)))) return true;
  }
  return false;
}

/** Returns the folders that the tests made with `python -m venv` or `uv venv`. */
async function findVirtualEnvironments(root: string, paths: readonly string[]): Promise<string[]> {
  const folders = paths.filter((path) => basename(path) === "pyvenv.cfg").map(dirname);
  const isPackage = await Promise.all(folders.map((folder) => readSmall(join(root, folder, "__init__.py"))));
  return folders.filter((folder, index) => folder !== "." && isPackage[index] === null);
}

async function listFiles(root: string): Promise<string[]> {
  const found: string[] = [];
  const visit = async (folder: string): Promise<void> => {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (!entry.isDirectory()) found.push(relative(root, path));
      else if (!ownFolders.test(entry.name)) await visit(path);
    }
  };
  await visit(root);
  return found;
}

async function readSmall(path: string): Promise<Buffer | null> {
  const content = await readFile(path).catch(() => null);
  return content !== null && content.length <= maxComparedBytes ? content : null;
}
