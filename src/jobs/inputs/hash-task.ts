import { createHash, hash } from "node:crypto";
import { createReadStream, lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { systemCodeOf } from "../../base/rollout-error.ts";

/** A task's content in few bytes. */
export interface TaskDigest {
  /** Of everything that a trial uses of the task. */
  readonly hash: string;
  /** Path → `<bytes>:<hash>` of each file, or of a whole folder that holds very many. */
  readonly files: Readonly<Record<string, string>>;
}

// What a trial uses; a README beside it may change without changing what is measured.
const usedParts = ["environment", "instruction.md", "solution", "task.toml", "tests"];
const mostFiles = 100;
const smallBytes = 1 << 18;
// So many files at once keep nothing else waiting for long.
const restAfter = 50;

/** Reads what trials use of a task directory; null when there is nothing that can be read. */
export async function hashTask(directory: string, signal: AbortSignal): Promise<TaskDigest | null> {
  try {
    const files: Record<string, string> = {};
    for (const part of usedParts) {
      const found = await hashPart(directory, part, signal);
      if (found.length > mostFiles) files[`${part}/`] = digestOf(found);
      else for (const [path, digest] of found) files[path] = digest;
    }
    const entries = Object.entries(files);
    return entries.length === 0 ? null : { hash: shortHash(JSON.stringify(entries)), files };
  } catch (error) {
    if (systemCodeOf(error) === undefined) throw error;
    return null;
  }
}

/** The first half of a SHA-256, in hex. */
export function shortHash(text: string): string {
  return hash("sha256", text).slice(0, 32);
}

// Most tasks are a handful of small files: asking the disk directly costs a fraction of a trip through the thread pool.
async function hashPart(root: string, path: string, signal: AbortSignal): Promise<[string, string][]> {
  const full = join(root, path);
  const stat = lstatSync(full, { throwIfNoEntry: false });
  if (stat === undefined) return [];
  if (stat.isSymbolicLink()) return [[path, `link:${shortHash(readlinkSync(full))}`]];
  if (stat.isDirectory()) {
    const parts: [string, string][] = [];
    for (const [at, name] of readdirSync(full).sort().entries()) {
      if (at % restAfter === restAfter - 1) await nextTurn(signal);
      parts.push(...(await hashPart(root, `${path}/${name}`, signal)));
    }
    return parts;
  }
  if (!stat.isFile()) return [[path, "special"]];
  const isProgram = (stat.mode & 0o111) !== 0;
  const content = stat.size <= smallBytes ? hash("sha256", readFileSync(full)) : await hashLarge(full, signal);
  return [[path, `${stat.size}:${content.slice(0, 32)}${isProgram ? "x" : ""}`]];
}

async function nextTurn(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => setImmediate(resolve));
  signal.throwIfAborted();
}

async function hashLarge(path: string, signal: AbortSignal): Promise<string> {
  const digest = createHash("sha256");
  for await (const chunk of createReadStream(path, { signal })) digest.update(chunk as Buffer);
  return digest.digest("hex");
}

function digestOf(files: readonly (readonly [string, string])[]): string {
  return `${files.length} files:${shortHash(JSON.stringify(files))}`;
}
