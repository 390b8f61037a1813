import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Host } from "../base/host.ts";
import { toPathSegment } from "../base/path-segment.ts";
import { RolloutError } from "../base/rollout-error.ts";
import { defineJob, loadJob } from "../jobs/config/load-job.ts";
import type { Job } from "../jobs/config/job.ts";
import type { Override } from "../jobs/config/overrides.ts";
import type { JobOptions } from "./job-options.ts";
import { isTaskDirectory, overridesOf, withAgents } from "./read-job-arguments.ts";

/** What a person may ask of a check. */
export interface CheckOptions extends Omit<JobOptions, "agent" | "attempts"> {
  readonly times: number;
  /** False leaves out the attempt without a network. */
  readonly networkCheck: boolean;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

export interface CheckArguments {
  readonly paths: readonly string[];
  readonly options: CheckOptions;
}

/** The job that checks tasks: `oracle` and `nop` on what the paths name, so many times each. */
export async function readCheckJob(check: CheckArguments, host: Host): Promise<Job> {
  const job = await readJob(check, ["oracle", "nop"], [], host);
  if (job.verifier.disable)
    throw new RolloutError("usage_invalid", "a check needs the tests, and verifier.disable leaves them out", {
      hint: "add --set verifier.disable=false",
    });
  const second = job.name === null ? null : join(job.jobsDir, toPathSegment(offlineName(job.name)));
  if (check.options.networkCheck && second !== null && existsSync(second))
    throw new RolloutError("already_exists", `${second} already exists`, {
      hint: "choose another name with --name, or leave it out to have one made from the time",
    });
  return job;
}

/** The job that runs `oracle` once more with tests that have no network; `name` is the first job's. */
export function readOfflineJob(check: CheckArguments, name: string, host: Host): Promise<Job> {
  const label = "rollout check";
  return readJob(
    check,
    ["oracle"],
    [
      { path: ["name"], value: offlineName(name), label },
      { path: ["n_attempts"], value: 1, label },
      { path: ["environment", "network", "verifier"], value: "none", label },
    ],
    host,
  );
}

function offlineName(name: string): string {
  return `${name}-no-network`;
}

async function readJob(
  { paths, options }: CheckArguments,
  agents: readonly string[],
  last: readonly Override[],
  host: Host,
): Promise<Job> {
  // The name in a job file is that of its own results.
  const unnamed: Override = { path: ["name"], value: null, label: "rollout check" };
  const overrides = [unnamed, ...overridesOf({ ...options, attempts: options.times }, host.cwd), ...last];
  const folders = paths.map((path) => resolve(host.cwd, path));
  const [first = ""] = paths;
  if (folders.every(isDirectory)) {
    const tasks = folders.filter(isTaskDirectory);
    const others = folders.filter((folder) => !isTaskDirectory(folder));
    const datasets = [...(tasks.length > 0 ? [{ tasks, name: "tasks" }] : []), ...others.map((path) => ({ path }))];
    return defineJob({ agents: agents.map((name) => ({ name })), datasets }, host.cwd, overrides, host);
  }
  if (paths.length > 1)
    throw new RolloutError("usage_invalid", `one job file at a time; got ${paths.join(" ")}`, {
      hint: "several paths are taken when each is a folder: of a task, or of tasks",
    });
  return withAgents(await loadJob(first, overrides, host), agents);
}

function isDirectory(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
