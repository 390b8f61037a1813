import { existsSync, readdirSync, statSync } from "node:fs";
import { join, normalize, resolve } from "node:path";
import type { Host } from "../base/host.ts";
import { RolloutError } from "../base/rollout-error.ts";
import { shellWord } from "../base/shown-path.ts";
import { describeUnknown } from "../base/suggest.ts";
import { reservedAgents } from "../jobs/config/check-job.ts";
import { defineJob, loadJob } from "../jobs/config/load-job.ts";
import type { Job } from "../jobs/config/job.ts";
import { parseSet, type Override } from "../jobs/config/overrides.ts";
import type { TaskSelection } from "../jobs/tasks/select-tasks.ts";
import type { JobOptions } from "./job-options.ts";

const mostNamedTasks = 5;

/** The job that paths and options stand for: one job file, or task directories without one. */
export async function readJobArguments(paths: readonly string[], options: JobOptions, host: Host): Promise<Job> {
  const overrides = overridesOf(options, host.cwd);
  const [first] = paths;
  if (first === undefined)
    throw new RolloutError("usage_invalid", "name a job file or task directories", {
      hint: "rollout job.yaml, or rollout run --agent oracle ./tasks/a",
    });
  const areTasks = paths.every((path) => isTaskDirectory(resolve(host.cwd, path)));
  if (!areTasks) {
    if (paths.length > 1)
      throw new RolloutError("usage_invalid", `one job file at a time; got ${paths.join(" ")}`, {
        hint: "several paths are taken when each is a task directory with a task.toml",
      });
    refuseDirectory(first, options.agent ?? [], host.cwd);
    const job = await loadJob(first, overrides, host);
    return withAgents(job, [...new Set(options.agent)]);
  }
  const names = [...new Set(options.agent)];
  if (names.length === 0)
    throw new RolloutError("usage_invalid", "task directories need an agent", {
      hint: `rollout run --agent oracle ${paths.join(" ")}`,
    });
  const unknown = names.filter((name) => !reservedAgents.includes(name));
  if (unknown.length > 0)
    throw new RolloutError("usage_invalid", `agent "${unknown[0]}" is not built in`, {
      hint: `without a job file the agents are ${reservedAgents.join(" and ")}; define others in a job file (rollout init job)`,
    });
  const document = {
    agents: names.map((name) => ({ name })),
    datasets: [{ tasks: paths.map((path) => resolve(host.cwd, path)), name: "tasks" }],
  };
  return defineJob(document, host.cwd, overrides, host);
}

// What a person meant by a directory shows in what it holds.
function refuseDirectory(path: string, agents: readonly string[], cwd: string): void {
  const dir = resolve(cwd, path);
  if (!existsSync(dir) || !statSync(dir).isDirectory()) return;
  const inside = normalize(path).replace(/(.)\/$/, "$1");
  const names = readdirSync(dir).filter((name) => !name.startsWith("."));
  const file = names.find((name) => /^job\.(ya?ml|json)$/.test(name));
  if (file !== undefined)
    throw new RolloutError("usage_invalid", `${path} is a directory, not a job file`, {
      hint: `rollout ${shellWord(join(inside, file))}`,
    });
  const tasks = names.filter((name) => isTaskDirectory(join(dir, name))).sort();
  if (tasks.length === 0) return;
  const isPure = tasks.length === names.length;
  const shown = isPure ? [] : tasks.slice(0, mostNamedTasks).map((name) => shellWord(join(inside, name)));
  const words = isPure ? `${shellWord(inside)}/*` : shown.join(" ");
  const whole = isPure || tasks.length <= mostNamedTasks ? "" : `, or a job file with datasets: [{ path: ${inside} }]`;
  const wanted = (agents.length > 0 ? agents : ["oracle"]).map((name) => `--agent ${shellWord(name)}`).join(" ");
  throw new RolloutError("usage_invalid", `${path} is a directory of tasks, not a task or a job file`, {
    hint: `name its tasks: rollout run ${wanted} ${words}${whole}`,
  });
}

/** True for a directory that holds a task.toml. */
export function isTaskDirectory(path: string): boolean {
  return existsSync(join(path, "task.toml")) && statSync(path).isDirectory();
}

/** Which tasks the options ask for. */
export function selectionOf(options: JobOptions): TaskSelection {
  return {
    include: options.task ?? [],
    exclude: options.exclude ?? [],
    tags: options.taskTag ?? [],
    categories: options.category ?? [],
    limit: options.limit ?? null,
    sample: options.sample ?? null,
    seed: options.seed,
  };
}

/** The keys that options put over a job's. */
export function overridesOf(
  options: Pick<JobOptions, "attempts" | "concurrency" | "name" | "environment" | "set">,
  cwd: string,
): Override[] {
  const direct: [string, string, unknown][] = [
    ["--attempts", "n_attempts", options.attempts],
    ["--concurrency", "n_concurrent_trials", options.concurrency],
    ["--name", "name", options.name],
  ];
  const overrides = direct
    .filter(([, , value]) => value !== undefined)
    .map(([option, key, value]): Override => ({ path: [key], value, label: `${option} ${String(value)}` }));
  if (options.environment !== undefined) {
    const typed = {
      path: ["environment", "type"],
      value: options.environment,
      label: `--environment ${options.environment}`,
    };
    overrides.push(fromWorkingDirectory(typed, cwd));
  }
  return [...overrides, ...(options.set ?? []).map((text) => fromWorkingDirectory(parseSet(text), cwd))];
}

// What is typed starts from where the person is, not from where the job file lies.
function fromWorkingDirectory(override: Override, cwd: string): Override {
  const { path, value } = override;
  const key = path.filter((part) => typeof part === "string").join(".");
  const isPath = ["datasets.path", "datasets.tasks", "datasets.registry.path"].includes(key);
  // A type without a leading dot is a name.
  const isModule = key === "environment.type" && typeof value === "string" && /^\.{1,2}\//.test(value);
  if (!isPath && !isModule) return override;
  return { ...override, value: typeof value === "string" ? resolve(cwd, value) : value };
}

/** The job with only these agents; `oracle` and `nop` need not be among its own. */
export function withAgents(job: Job, names: readonly string[]): Job {
  if (names.length === 0) return job;
  const agents = names.map((name) => {
    const known = job.agents.find((agent) => agent.name === name);
    if (known) return known;
    if (reservedAgents.includes(name))
      return { name, description: null, install: null, execute: null, env: {}, nConcurrent: null, isCached: false };
    const names = [...job.agents.map((agent) => agent.name), ...reservedAgents];
    throw new RolloutError("config_invalid", `--agent ${name}: ${describeUnknown("agent", name, names)}`, {
      hint: `its agents: ${job.agents.map((agent) => agent.name).join(", ")}`,
    });
  });
  const documents = job.document["agents"] as readonly { readonly name: string }[];
  const document = {
    ...job.document,
    agents: agents.map(({ name }) => documents.find((entry) => entry.name === name) ?? { name }),
  };
  return { ...job, agents, document };
}
