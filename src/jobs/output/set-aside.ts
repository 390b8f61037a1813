import { existsSync } from "node:fs";
import { mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { Redactor } from "../../base/redactor.ts";
import { writeFileAtomic } from "../../base/writers/atomic-file.ts";
import { redactTree } from "../trial/redact-tree.ts";
import type { TrialPaths } from "./job-paths.ts";
import { readTrial } from "./read-job.ts";
import { isStaging, moveEvidence, movingSuffix } from "./trial-files.ts";
import type { TrialResultFile } from "./trial-result-schema.ts";

/** What is known of the tries that a trial had in earlier sessions. */
export interface EarlierTries {
  readonly count: number;
  /** The latest result of them, which tells what all tries up to it have cost. */
  readonly result: TrialResultFile | null;
  /** Tries after that result, of which nobody knows what they cost. */
  readonly lost: number;
}

/** Moves what earlier sessions left in a trial's folder to `retries/<k>/`, whole, and tells how many tries there were. */
export async function setAside(paths: TrialPaths, redactor: Redactor): Promise<EarlierTries> {
  const names = await readdir(paths.retries).catch(() => []);
  const begun = names.find((name) => name.endsWith(movingSuffix));
  const next = Math.max(0, ...names.map(Number).filter(Number.isInteger)) + 1;
  const staging = join(paths.retries, begun ?? `${next}${movingSuffix}`);
  const left = (await readdir(paths.dir)).filter((name) => name !== "retries" && !isStaging(name));
  if (begun !== undefined || left.length > 0) {
    await mkdir(staging, { recursive: true });
    await moveEvidence(paths, staging);
    const why = join(staging, "error.txt");
    if (!existsSync(why)) await writeFileAtomic(why, "the process that ran this try ended before it did\n", redactor);
    // Its process may have died between the copying of something and the cleaning of it.
    await redactTree(staging, redactor, new Set());
    await rename(staging, staging.slice(0, -movingSuffix.length));
  }
  return readEarlierTries(paths);
}

async function readEarlierTries(paths: TrialPaths): Promise<EarlierTries> {
  const names = await readdir(paths.retries).catch(() => []);
  const count = Math.max(0, ...names.map(Number).filter(Number.isInteger));
  for (let k = count; k > 0; k--) {
    const result = await readTrial(join(paths.retries, String(k)));
    if (result) return { count, result, lost: count - k };
  }
  return { count, result: null, lost: count };
}
