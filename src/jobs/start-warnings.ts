import { shortestSecret, type Secret } from "../base/redactor.ts";
import type { Capabilities, EnvironmentProvider } from "../environments/environment.ts";
import type { Job } from "./config/job.ts";
import type { Dataset } from "./tasks/task.ts";

/** What a person should know before a job starts, each thing once. */
export function startWarnings(
  job: Job,
  datasets: readonly Dataset[],
  { name, capabilities }: Pick<EnvironmentProvider, "name" | "capabilities">,
  secrets: readonly Secret[],
): string[] {
  return [
    ...keepWarnings(job, name, capabilities),
    ...limitWarnings(job, datasets, capabilities),
    ...keyWarnings(datasets),
    ...secretWarnings(secrets),
    ...pinWarnings(datasets),
    ...shellFormWarnings(job.document),
  ];
}

function keepWarnings({ environment: { preserveEnv } }: Job, name: string, { stop }: Capabilities): string[] {
  if (preserveEnv === "never" || stop) return [];
  return [
    `environment.preserve_env: ${preserveEnv} keeps nothing: environment "${name}" cannot keep what is in it as provider_config sets it up, a disk in memory for one`,
  ];
}

// Only limits that somebody asked for are worth a word.
function limitWarnings(job: Job, datasets: readonly Dataset[], { limits }: Capabilities): string[] {
  const tasks = datasets.flatMap((dataset) => dataset.tasks.filter((task) => task.status === "ready"));
  const asked = {
    cpus: job.environment.overrideCpus !== null || tasks.some((task) => task.config.environment.cpus !== 1),
    memory:
      job.environment.overrideMemoryBytes !== null || tasks.some((task) => task.config.environment.memoryBytes !== 2e9),
    storage:
      job.environment.overrideStorageBytes !== null ||
      tasks.some((task) => task.config.environment.storageBytes !== 10e9),
    pids: job.environment.pidsLimit !== null,
  };
  return (["cpus", "memory", "storage", "pids"] as const).flatMap((name) => {
    if (!asked[name] || limits[name] === "enforced") return [];
    return [
      limits[name] === "none"
        ? `this environment does not limit ${name}; the values asked for have no effect`
        : `this environment limits ${name} only as advice`,
    ];
  });
}

function keyWarnings(datasets: readonly Dataset[]): string[] {
  const tasksByText = new Map<string, Set<string>>();
  for (const task of datasets.flatMap((dataset) => dataset.tasks)) {
    if (task.status === "broken") continue;
    for (const { path, message } of task.warnings) {
      const text = path ? `${path}: ${message}` : message;
      tasksByText.set(text, (tasksByText.get(text) ?? new Set()).add(task.name));
    }
  }
  return [...tasksByText].map(([text, tasks]) => `task.toml ${text} (${listTasks([...tasks])})`);
}

const maxListedTasks = 5;

function listTasks(names: readonly string[]): string {
  const listed = names.slice(0, maxListedTasks).join(", ");
  const rest = names.length - maxListedTasks;
  return `${names.length === 1 ? "task" : "tasks"} ${listed}${rest > 0 ? ` and ${rest} more` : ""}`;
}

function secretWarnings(secrets: readonly Secret[]): string[] {
  const names = [...new Set(secrets.filter(({ value }) => value.length < shortestSecret).map(({ name }) => name))];
  if (names.length === 0) return [];
  return [`values of ${names.join(", ")} are shorter than ${shortestSecret} characters and are not redacted`];
}

function pinWarnings(datasets: readonly Dataset[]): string[] {
  const pins = new Map(datasets.flatMap((dataset) => dataset.pins.map(({ url, commit }) => [url, commit] as const)));
  return [...pins].map(
    ([url, commit]) => `${url} is not pinned in the registry; this job uses commit ${commit.slice(0, 12)}`,
  );
}

// `${X-y}` is right in bash and reaches the program as it stands here; a person who wrote it meant something else.
function shellFormWarnings(document: Job["document"]): string[] {
  const { agents, verifier } = document as Record<string, { readonly env?: Record<string, string> } | undefined> & {
    readonly agents?: readonly { readonly name: string; readonly env?: Record<string, string> }[];
  };
  const tables = [
    ...(agents ?? []).map(({ name, env }) => [`env of agent ${name}`, env ?? {}] as const),
    ["verifier.env", verifier?.env ?? {}] as const,
  ];
  return tables.flatMap(([where, env]) =>
    Object.entries(env)
      .filter(([, value]) => /\$\{(?![A-Za-z_][A-Za-z0-9_]*(?::-|\}))/.test(value))
      .map(
        ([key, value]) =>
          `${where}: ${key} holds ${JSON.stringify(value)}; only \${VAR} and \${VAR:-default} are replaced`,
      ),
  );
}
