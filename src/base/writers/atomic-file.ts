import { renameSync, writeFileSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { redactJson, type Redactor } from "../redactor.ts";

// A few pages go straight to the cache; four trips through the thread pool would cost several times as much.
const smallTextLength = 1 << 16;

let sequence = 0;

/** Writes a whole file so that a reader sees either the old one or the new one, never a part. */
export function writeFileAtomic(path: string, text: string, redactor: Redactor): Promise<void> {
  return replaceFile(path, redactor.text(text));
}

/** Writes a value as an indented JSON file, as whole as `writeFileAtomic` does; redaction never breaks the JSON. */
export function writeJsonAtomic(path: string, value: unknown, redactor: Redactor): Promise<void> {
  return replaceFile(path, `${redactJson(value, redactor, 2)}\n`);
}

async function replaceFile(path: string, text: string): Promise<void> {
  const staging = `${path}.${process.pid}-${sequence++}.tmp`;
  try {
    if (text.length <= smallTextLength) {
      writeFileSync(staging, text);
      renameSync(staging, path);
    } else {
      await writeFile(staging, text);
      await rename(staging, path);
    }
  } catch (error) {
    await rm(staging, { force: true }).catch(() => {});
    throw error;
  }
}
