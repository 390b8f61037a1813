import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord } from "../../base/shown-path.ts";
import { readJob, type JobRecord } from "../../jobs/output/read-job.ts";
import type { CliContext } from "../cli-context.ts";
import { isDirectoryGone } from "../commands/list.ts";
import { kindText } from "./kind-text.ts";
import { locateRun } from "./locate-run.ts";

/** Finds the directory of the job that a person names: the directory itself, or an id or name of the job. */
export async function locateJobDirectory(word: string, context: CliContext): Promise<string> {
  const { cwd } = context.host;
  const path = resolve(cwd, word);
  if (existsSync(path)) return path;
  await using located = await locateRun(word, {}, context);
  const { run } = located;
  const show = `rollout show ${shellWord(word)}`;
  if (run.kind !== "job")
    throw new RolloutError("usage_invalid", `${word} is ${kindText(run.kind)}, not a job`, {
      hint: `${show} tells how it stands, and how to go on with it`,
    });
  if (isDirectoryGone(run, cwd))
    throw new RolloutError("not_found", `the directory of ${word} is gone: ${run.location}`, {
      hint: `what the store has of it: ${show}`,
    });
  return resolve(cwd, run.location);
}

/** Reads the job that a person names. */
export async function readNamedJob(word: string, context: CliContext): Promise<JobRecord> {
  return await readJob(await locateJobDirectory(word, context));
}
