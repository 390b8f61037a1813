import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { RolloutError } from "../../base/rollout-error.ts";
import { expandText } from "../config/expand-env.ts";
import { readJobJournal } from "./job-journal.ts";
import { jobPaths } from "./job-paths.ts";

const environmentSchema = z.object({
  environment: z.object({ type: z.string(), provider_config: z.record(z.string(), z.unknown()).default({}) }),
});

/** Where the environments of a job came from. */
export interface JobEnvironment {
  readonly jobDir: string;
  /** One for each session. */
  readonly runIds: readonly string[];
  readonly type: string;
  readonly providerConfig: unknown;
  readonly baseDir: string;
}

/** What a job directory says about its environments, with variables filled in anew; null when it is no job directory. */
export async function readJobEnvironment(
  jobDir: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<JobEnvironment | null> {
  const paths = jobPaths(jobDir);
  const { started, runIds } = await readJobJournal(paths.journal).catch(() => ({ started: null, runIds: [] }));
  if (!started) return null;
  const { environment } = environmentSchema.parse(JSON.parse(await readFile(paths.config, "utf8")));
  return {
    jobDir,
    runIds,
    type: environment.type,
    providerConfig: fillIn(environment.provider_config, env),
    baseDir: started.base_dir,
  };
}

/** The same for the job that a trial directory belongs to. */
export async function readTrialEnvironment(
  trialDir: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<JobEnvironment> {
  const found = await readJobEnvironment(join(trialDir, "..", "..", ".."), env);
  if (found) return found;
  throw new RolloutError("not_found", `${trialDir} does not lie in a job directory, so its environment is not known`);
}

function fillIn(value: unknown, env: Readonly<Record<string, string | undefined>>): unknown {
  if (typeof value === "string") return expandText(value, env).text;
  if (Array.isArray(value)) return value.map((entry) => fillIn(entry, env));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, fillIn(entry, env)]));
}
