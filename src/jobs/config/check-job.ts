import { existsSync } from "node:fs";
import { basename, resolve } from "node:path";
import { toPathSegment } from "../../base/path-segment.ts";
import type { JobFile } from "./job-schema.ts";

type Path = readonly (string | number)[];
type DatasetEntry = JobFile["datasets"][number];

/** One broken rule, at the key it is about. */
export interface Finding {
  readonly path: Path;
  readonly of: "key" | "value";
  readonly message: string;
  /** Other keys the rule looked at; when one of those is wrong itself, the rule has nothing to say. */
  readonly restsOn?: readonly Path[] | undefined;
}

export const reservedAgents: readonly string[] = ["oracle", "nop"];

// Names that the job directory itself uses beside its agents' folders.
const takenFolders = ["config.json", "result.json"];

/** What the schema alone cannot say: rules between keys, names that collide, paths that must exist. */
export function checkJob(job: JobFile, baseDir: string): Finding[] {
  return [
    ...(job.name === undefined ? [] : checkName(job.name, ["name"])),
    ...job.agents.flatMap((agent, index) => checkAgent(agent, index)),
    ...job.datasets.flatMap((dataset, index) => checkDataset(dataset, index, baseDir)),
    ...checkCollisions(
      job.agents.map((agent, index) => ({ name: agent.name, path: ["agents", index, "name"] })),
      "agent",
    ),
    ...checkCollisions(
      job.datasets.flatMap((dataset, index) => {
        const name = datasetName(dataset, baseDir);
        return name === null ? [] : [{ name, path: datasetNamePath(dataset, index) }];
      }),
      "dataset",
    ),
    ...checkVerifier(job),
  ];
}

/** The name a dataset goes by in results: the given one, or that of its folder; null when it has neither. */
export function datasetName(dataset: DatasetEntry, baseDir: string): string | null {
  if (dataset.name !== undefined) return dataset.name;
  if (dataset.path !== undefined) return basename(resolve(baseDir, dataset.path)) || "root";
  return dataset.tasks ? "tasks" : null;
}

function datasetNamePath(dataset: DatasetEntry, index: number): Path {
  if (dataset.name !== undefined) return ["datasets", index, "name"];
  return ["datasets", index, dataset.path === undefined ? "tasks" : "path"];
}

function checkAgent(agent: JobFile["agents"][number], index: number): Finding[] {
  const path: Path = ["agents", index];
  const findings = checkName(agent.name, [...path, "name"]);
  if (reservedAgents.includes(agent.name)) {
    for (const key of ["install", "execute"] as const) {
      if (agent[key] === undefined) continue;
      const message = `"${agent.name}" is a built-in agent and takes no ${key} script; use another name for your own`;
      findings.push({ path: [...path, key], of: "key", message });
    }
  } else if (agent.execute === undefined || agent.execute.trim() === "") {
    findings.push({ path: [...path, "execute"], of: "key", message: "is required: the script that runs the agent" });
  }
  if (agent.cache && (agent.install === undefined || agent.install.trim() === "")) {
    const restsOn = [[...path, "install"]];
    findings.push({ path: [...path, "cache"], of: "key", message: "has no effect without an install script", restsOn });
  }
  return findings;
}

function checkDataset(dataset: DatasetEntry, index: number, baseDir: string): Finding[] {
  const path: Path = ["datasets", index];
  const findings = checkSource(dataset, path);
  const name = dataset.registry && dataset.name === undefined ? null : datasetName(dataset, baseDir);
  if (name !== null) findings.push(...checkName(name, datasetNamePath(dataset, index)));
  if (dataset.path !== undefined) findings.push(...checkExists(dataset.path, [...path, "path"], baseDir));
  for (const [at, task] of (dataset.tasks ?? []).entries()) {
    findings.push(...checkExists(task, [...path, "tasks", at], baseDir));
  }
  if (dataset.registry) findings.push(...checkRegistry(dataset, path, baseDir));
  else if (dataset.version !== undefined) {
    const message = "only a dataset from a registry has a version";
    findings.push({ path: [...path, "version"], of: "key", message, restsOn: [[...path, "registry"]] });
  }
  return findings;
}

function checkSource(dataset: DatasetEntry, path: Path): Finding[] {
  const keys = ["path", "tasks", "registry"] as const;
  const given = keys.filter((key) => dataset[key] !== undefined);
  if (given.length === 1) return [];
  const got = given.length === 0 ? "none of them is" : `${given.join(" and ")} are`;
  const message = `needs exactly one of path, tasks and registry; ${got} given`;
  return [{ path, of: "value", message, restsOn: keys.map((key) => [...path, key]) }];
}

function checkRegistry(dataset: DatasetEntry, path: Path, baseDir: string): Finding[] {
  const findings: Finding[] = [];
  const at = [...path, "registry"];
  const { path: file, url } = dataset.registry ?? {};
  if ((file === undefined) === (url === undefined)) {
    const restsOn = [
      [...at, "path"],
      [...at, "url"],
    ];
    findings.push({ path: at, of: "value", message: "needs exactly one of path and url", restsOn });
  }
  if (dataset.name === undefined) {
    findings.push({ path: [...path, "name"], of: "key", message: "is required: the dataset's name in the registry" });
  }
  if (file !== undefined) findings.push(...checkExists(file, [...at, "path"], baseDir));
  return findings;
}

function checkExists(path: string, at: Path, baseDir: string): Finding[] {
  const full = resolve(baseDir, path);
  return existsSync(full) ? [] : [{ path: at, of: "value", message: `${full} does not exist` }];
}

function checkName(name: string, path: Path): Finding[] {
  if (name.startsWith(".")) {
    const message = `"${name}" starts with a dot; it becomes a folder's name, so begin it with something else`;
    return [{ path, of: "value", message }];
  }
  if (takenFolders.includes(folderOf(name))) {
    return [{ path, of: "value", message: `"${name}" is the name of a file in every job directory; choose another` }];
  }
  return [];
}

function checkCollisions(entries: readonly { readonly name: string; readonly path: Path }[], kind: string): Finding[] {
  const seen = new Map<string, string>();
  const findings: Finding[] = [];
  for (const { name, path } of entries) {
    const folder = folderOf(name);
    const other = seen.get(folder);
    if (other === undefined) seen.set(folder, name);
    else {
      const same =
        other === name ? `two ${kind}s are called "${name}"` : `"${name}" and "${other}" would share one folder`;
      findings.push({ path, of: "value", message: `${same}; give one another name` });
    }
  }
  return findings;
}

// Folded, because the results may be read on a file system that does not tell case apart.
function folderOf(name: string): string {
  return toPathSegment(name).toLowerCase();
}

// Without a word from the job about the environment, a task may still ask for a separate one.
function checkVerifier(job: JobFile): Finding[] {
  if (job.verifier.paths === undefined || job.verifier.environment !== "shared") return [];
  const message = "has no effect with verifier.environment: shared";
  return [{ path: ["verifier", "paths"], of: "key", message, restsOn: [["verifier", "environment"]] }];
}
