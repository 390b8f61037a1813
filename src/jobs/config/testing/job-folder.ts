import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { readHost } from "../../../base/host.ts";
import { formatProblem } from "../../../base/problem.ts";
import { RolloutError } from "../../../base/rollout-error.ts";
import type { Job } from "../job.ts";
import { defineJob, loadJob } from "../load-job.ts";
import { parseSet } from "../overrides.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** A temporary working directory with a dataset in `tasks/`, in which jobs are read. */
export interface JobFolder extends AsyncDisposable {
  readonly dir: string;
  /** The job that a text in the given file stands for. */
  load(text: string, more?: LoadOptions): Promise<Job>;
  /** The problems of that job as a person sees them; empty when it has none. */
  problems(text: string, more?: LoadOptions): Promise<string[]>;
  /** The same for a job given as an object. */
  define(value: unknown, more?: LoadOptions): Job;
  defineProblems(value: unknown, more?: LoadOptions): string[];
}

export interface LoadOptions {
  readonly file?: string;
  readonly env?: Variables;
  /** Values of `--set`. */
  readonly set?: readonly string[];
}

/** Makes such a directory. */
export async function openJobFolder(): Promise<JobFolder> {
  const dir = await mkdtemp(join(tmpdir(), "rollout-config-"));
  await mkdir(join(dir, "tasks"));
  const hostOf = (env: Variables = {}) =>
    readHost({
      env: { HOME: dir, ...env },
      cwd: () => dir,
      platform: "linux",
      getuid: () => 0,
      pid: 1,
      execPath: "node",
    });
  const load = async (text: string, { file = "job.yaml", env, set = [] }: LoadOptions = {}): Promise<Job> => {
    await mkdir(dirname(join(dir, file)), { recursive: true });
    await writeFile(join(dir, file), text);
    return loadJob(file, set.map(parseSet), hostOf(env));
  };
  const define = (value: unknown, { env, set = [] }: LoadOptions = {}): Job =>
    defineJob(value, dir, set.map(parseSet), hostOf(env));
  return {
    dir,
    load,
    problems: (text, more) => load(text, more).then(() => [], shownProblems),
    define,
    defineProblems(value, more) {
      try {
        define(value, more);
        return [];
      } catch (error) {
        return shownProblems(error);
      }
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}

function shownProblems(error: unknown): string[] {
  if (!(error instanceof RolloutError) || error.code !== "config_invalid" || error.problems.length === 0) throw error;
  return error.problems.map(formatProblem);
}
