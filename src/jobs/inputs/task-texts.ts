import { mkdirSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Redactor } from "../../base/redactor.ts";
import { writeJsonAtomic } from "../../base/writers/atomic-file.ts";
import type { TaskDigest } from "./hash-task.ts";

/** The small text files of a task, by path. */
export type TaskTexts = Readonly<Record<string, string>>;

// Enough for what people write by hand; what is larger is told by its size.
const mostFileBytes = 8 * 1024;
const mostBytes = 32 * 1024;

/** Reads the files of a task that are short texts, as far as there is room for them. */
export function readTaskTexts(directory: string, { files }: TaskDigest, redactor: Redactor): TaskTexts {
  const texts: Record<string, string> = {};
  let left = mostBytes;
  for (const [path, digest] of Object.entries(files)) {
    const size = Number(/^(\d+):/.exec(digest)?.[1] ?? Number.NaN);
    if (!(size <= Math.min(mostFileBytes, left))) continue;
    const text = readText(join(directory, path));
    if (text === null) continue;
    texts[path] = redactor.text(text);
    left -= size;
  }
  return texts;
}

/** Keeps them with the job, so that a later change can be shown; one that cannot be written is only not shown. */
export async function keepTaskTexts(
  tasksDir: string,
  directory: string,
  digest: TaskDigest,
  redactor: Redactor,
): Promise<void> {
  try {
    mkdirSync(tasksDir, { recursive: true });
    const texts = readTaskTexts(directory, digest, redactor);
    await writeJsonAtomic(join(tasksDir, `${digest.hash}.json`), texts, redactor);
  } catch {
    // The journal has what changes are found by.
  }
}

/** What was kept of a task's content; empty when nothing was. */
export async function readKeptTexts(tasksDir: string, hash: string): Promise<TaskTexts> {
  try {
    return (JSON.parse(await readFile(join(tasksDir, `${hash}.json`), "utf8")) as TaskTexts | null) ?? {};
  } catch {
    return {};
  }
}

function readText(path: string): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(path));
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}
