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
  const staging = join(paths.retries, `${k}${movingSuffix}`);
  await mkdir(staging, { recursive: true });
  await moveEvidence(paths, staging);
  await writeFileAtomic(join(staging, "error.txt"), `${error.trimEnd()}\n`, redactor);
  await rename(staging, join(paths.retries, String(k)));
}

// A folder has its number once everything is in it, so that a move which a crash cut short is seen and finished.
export const movingSuffix = ".moving";

/** Moves what stands in a trial's folder, the result first: from then on the trial has none. */
export async function moveEvidence(paths: TrialPaths, target: string): Promise<void> {
  const names = (await readdir(paths.dir)).filter((name) => name !== "retries");
  names.sort((a, b) => Number(b === "result.json") - Number(a === "result.json"));
  for (const name of names) {
    if (isStaging(name)) await rm(join(paths.dir, name), { force: true });
    else await rename(join(paths.dir, name), join(target, name));
  }
}

/** True for the half of an atomic write that a crash left. */
export function isStaging(name: string): boolean {
  return /\.\d+-\d+\.tmp$/.test(name);
}

/** Writes why one call failed before it was made again. */
export async function keepCallEvidence(paths: TrialPaths, k: number, error: string, redactor: Redactor): Promise<void> {
  const target = join(paths.retries, String(k));
  await rm(target, { recursive: true, force: true });
  await mkdir(target, { recursive: true });
  await writeFileAtomic(join(target, "error.txt"), `${error.trimEnd()}\n`, redactor);
}
