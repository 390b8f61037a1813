import { dirname, join } from "node:path";
import type { Host } from "../../base/host.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Job } from "../config/job.ts";
import { loadConfig } from "../config/load-job.ts";
import type { Override } from "../config/overrides.ts";
import type { TaskSelection } from "../tasks/select-tasks.ts";
import type { EarlierWork } from "./open-earlier-work.ts";

/** The job that a job directory holds, as it was run, with the given keys over it. */
export function loadRecordedJob(earlier: EarlierWork, overrides: readonly Override[], host: Host): Job {
  const { paths, config, journal } = earlier;
  if (config === null)
    throw new RolloutError("not_found", `${paths.dir} has no config.json that can be read`, {
      hint: "start it from its job file: rollout job.yaml --resume",
    });
  const { job_file: file = null, base_dir: baseDir = host.cwd } = journal.started ?? {};
  const value = { ...(restore(config, host.env) as object), jobs_dir: dirname(paths.dir) };
  return loadConfig(value, { file, label: join(paths.dir, "config.json"), baseDir }, overrides, host);
}

/** Which tasks the job was asked for when it was last run. */
export function recordedSelection({ journal }: EarlierWork): TaskSelection {
  const asked: Readonly<Record<string, unknown>> = journal.started?.selection ?? {};
  const words = (key: string): string[] => (asked[key] as string[] | undefined) ?? [];
  return {
    include: words("task"),
    exclude: words("exclude"),
    tags: words("task_tag"),
    categories: words("category"),
    limit: (asked["limit"] as number | undefined) ?? null,
    sample: (asked["sample"] as number | undefined) ?? null,
    seed: (asked["seed"] as TaskSelection["seed"] | undefined) ?? "0",
  };
}

// A path that happens to hold a variable's value is written without it; the variable still has it.
function restore(value: unknown, env: Host["env"]): unknown {
  if (typeof value === "string") return value.replace(/\[redacted:(\w+)\]/g, (mark, name: string) => env[name] ?? mark);
  if (Array.isArray(value)) return value.map((part) => restore(part, env));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, restore(part, env)]));
}
