import { mkdir, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Redactor } from "../../base/redactor.ts";
import { writeFileAtomic, writeJsonAtomic } from "../../base/writers/atomic-file.ts";
import type { TrialPaths } from "./job-paths.ts";
import type { TrialResultFile } from "./trial-result-schema.ts";

/** Writes a trial's result.json as a whole. */
export function writeTrialResult(paths: TrialPaths, result: TrialResultFile, redactor: Redactor): Promise<void> {
  return writeJsonAtomic(paths.result, result, redactor);
}

/** Writes a trial's error.txt as a whole. */
export function writeTrialError(paths: TrialPaths, text: string, redactor: Redactor): Promise<void> {
  return writeFileAtomic(paths.error, `${text.trimEnd()}\n`, redactor);
}

/** Moves everything a failed try left in the trial's folder to `retries/<k>/` and adds why it failed. */
export async function keepTryEvidence(paths: TrialPaths, k: number, error: string, redactor: Redactor): Promise<void> {
  const target = join(paths.retries, String(k));
  await mkdir(target, { recursive: true });
  for (const name of await readdir(paths.dir)) {
    if (name !== "retries") await rename(join(paths.dir, name), join(target, name));
  }
  await writeFileAtomic(join(target, "error.txt"), `${error.trimEnd()}\n`, redactor);
}

/** Writes why one call failed before it was made again. */
export async function keepCallEvidence(paths: TrialPaths, k: number, error: string, redactor: Redactor): Promise<void> {
  const target = join(paths.retries, String(k));
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  await writeFileAtomic(join(target, "error.txt"), `${error.trimEnd()}\n`, redactor);
}
