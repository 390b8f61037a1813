import { lstat, realpath } from "node:fs/promises";
import { join } from "node:path";
import { openRegularFile, type RegularFile } from "../../base/open-regular-file.ts";
import { resolveByteRange } from "../../store/byte-range.ts";
import type { Artifact } from "../../store/run.ts";
import type { ArtifactContent, ByteRange } from "../../store/run-source.ts";
import { listArtifacts } from "../output/trial-artifacts.ts";
import { instructionName, readInstruction } from "./task-instruction.ts";
import type { JobIndex } from "./job-index.ts";

const chunkBytes = 64 * 1024;

/** Lists the files of a planned trial, also of a running one, and the instruction of its task. */
export async function listTrialArtifacts(index: JobIndex, key: string): Promise<readonly Artifact[]> {
  if (index.state.labelsOf(key) === null) return [];
  const dir = await findTrialDir(index.paths.dir, key);
  const files = dir === null ? [] : await listArtifacts(dir);
  if (files.some(({ name }) => name === instructionName)) return files;
  const instruction = await readInstruction(index, key);
  return instruction === null ? files : [...files, instruction.artifact];
}

/** Opens a file that `listTrialArtifacts` lists. Returns null for any other name. */
export async function openTrialArtifact(
  index: JobIndex,
  key: string,
  name: string,
  range: ByteRange | undefined,
): Promise<ArtifactContent | null> {
  const listed = (await listTrialArtifacts(index, key)).find((artifact) => artifact.name === name);
  const dir = await findTrialDir(index.paths.dir, key);
  if (listed === undefined) return null;
  await using file = dir === null ? null : await openInside(dir, name);
  if (dir === null || file === null) return name === instructionName ? await openInstruction(index, key, range) : null;
  // The file may have grown or shrunk since it was listed.
  const { size, mtimeMs } = file.stats;
  const { start, end } = resolveByteRange(range, size);
  return { artifact: { ...listed, size }, modifiedAt: mtimeMs, start, content: readContent(dir, name, start, end) };
}

async function openInstruction(
  index: JobIndex,
  key: string,
  range: ByteRange | undefined,
): Promise<ArtifactContent | null> {
  const instruction = await readInstruction(index, key);
  if (instruction === null) return null;
  const { artifact, modifiedAt, bytes } = instruction;
  const { start, end } = resolveByteRange(range, artifact.size);
  return { artifact, modifiedAt, start, content: yieldOnce(bytes.subarray(start, end)) };
}

/** Returns the real path of a trial directory; null if it is missing, or if a link leads to it. */
async function findTrialDir(jobDir: string, key: string): Promise<string | null> {
  const real = await realpath(jobDir).catch(() => null);
  const dir = real && join(real, key);
  return dir !== null && (await isPlainPath(dir)) ? dir : null;
}

async function isPlainPath(path: string): Promise<boolean> {
  return (await realpath(path).catch(() => null)) === path;
}

/** Opens a file below a directory. Returns null if a link leads to it. */
async function openInside(dir: string, name: string): Promise<RegularFile | null> {
  const path = join(dir, name);
  const file = await openRegularFile(path);
  if (file === null) return null;
  // Checked after opening: a directory on the way may have been replaced by a link in between.
  const stats = (await isPlainPath(path)) ? await lstat(path).catch(() => null) : null;
  if (stats?.ino === file.stats.ino && stats.dev === file.stats.dev) return file;
  await file[Symbol.asyncDispose]();
  return null;
}

// Opens the file again when reading starts, so that content nobody reads keeps no file open.
async function* readContent(dir: string, name: string, start: number, end: number): AsyncGenerator<Uint8Array> {
  await using file = await openInside(dir, name);
  if (file === null) return;
  for (let position = start; position < end;) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, end - position));
    const { bytesRead } = await file.handle.read(chunk, 0, chunk.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield chunk.subarray(0, bytesRead);
  }
}

async function* yieldOnce(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  if (bytes.length > 0) yield bytes;
}
