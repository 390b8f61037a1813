import { readdir, realpath } from "node:fs/promises";
import { basename, join } from "node:path";
import { messageOf, RolloutError, systemCodeOf } from "../../base/rollout-error.ts";
import type { DatasetRef } from "../config/job.ts";
import type { FindCommit } from "./find-commit.ts";
import { exists } from "./git/cache-layout.ts";
import { loadTask } from "./load-task.ts";
import { mapBounded } from "./map-bounded.ts";
import type { Dataset, TaskEntry } from "./task.ts";

interface FoundTask {
  readonly directory: string;
  /** The same without links, to look for its repository from. */
  readonly realDirectory: string;
}

const tasksAtOnce = 32;

/** The tasks in the direct subdirectories of a directory, by name; rejects with `config_invalid` when there is none. */
export async function loadDirectoryDataset(
  ref: DatasetRef & { readonly kind: "path" },
  findCommit: FindCommit,
  signal: AbortSignal,
): Promise<Dataset> {
  const found = await findTasks(ref.path);
  if (found.length === 0) {
    throw new RolloutError("config_invalid", `the dataset ${ref.path} holds no task`, {
      hint: await explainNoTask(ref.path),
    });
  }
  return toDataset(ref, ref.path, await loadAll(found, ref.name, findCommit, signal));
}

/** The task directories that were given one by one; rejects with `config_invalid` what is none, or has a name twice. */
export async function loadGivenTasks(
  ref: DatasetRef & { readonly kind: "tasks" },
  findCommit: FindCommit,
  signal: AbortSignal,
): Promise<Dataset> {
  const seen = new Map<string, string>();
  const found: FoundTask[] = [];
  for (const path of ref.paths) {
    const realDirectory = await realpath(path).catch((error: unknown) => {
      throw unreadable("task", path, error);
    });
    if (!(await exists(join(path, "task.toml")))) {
      const hint = (await findTasks(path)).length > 0 ? "it is a dataset: give it as one" : "check the path";
      throw new RolloutError("config_invalid", `${path} is not a task: it has no task.toml`, { hint });
    }
    const name = basename(path);
    const other = seen.get(name);
    if (other !== undefined) {
      const message = `two tasks are called "${name}": ${other} and ${path}`;
      throw new RolloutError("config_invalid", message, {
        hint: "results are kept by name: rename one of the directories",
      });
    }
    seen.set(name, path);
    found.push({ directory: path, realDirectory });
  }
  const source = `${ref.paths.length} task ${ref.paths.length === 1 ? "directory" : "directories"}`;
  return toDataset(ref, source, await loadAll(found, ref.name, findCommit, signal));
}

function toDataset(ref: DatasetRef, source: string, tasks: readonly TaskEntry[]): Dataset {
  return { name: ref.name, version: null, source, tasks, pins: [], nConcurrent: ref.nConcurrent };
}

async function loadAll(
  found: readonly FoundTask[],
  datasetName: string,
  findCommit: FindCommit,
  signal: AbortSignal,
): Promise<TaskEntry[]> {
  return mapBounded(found, tasksAtOnce, async ({ directory, realDirectory }) => {
    const gitCommitId = await findCommit(realDirectory);
    return loadTask({ directory, name: basename(directory), datasetName, gitCommitId, signal });
  });
}

/** The task directories directly inside a directory, by name. */
async function findTasks(path: string): Promise<FoundTask[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    throw unreadable("dataset", path, error);
  });
  const realPath = await realpath(path);
  const candidates = entries.filter((entry) => entry.isDirectory() || entry.isSymbolicLink());
  const found = await mapBounded(candidates, tasksAtOnce, async (entry): Promise<FoundTask[]> => {
    const directory = join(path, entry.name);
    if (!(await exists(join(directory, "task.toml")))) return [];
    return [
      { directory, realDirectory: entry.isSymbolicLink() ? await realpath(directory) : join(realPath, entry.name) },
    ];
  });
  return found.flat().sort((a, b) => (a.directory < b.directory ? -1 : 1));
}

function unreadable(kind: string, path: string, error: unknown): RolloutError {
  const code = systemCodeOf(error);
  const options = { hint: "relative paths in a job file start from that file's directory", cause: error };
  if (code === "ENOENT") return new RolloutError("config_invalid", `the ${kind} ${path} does not exist`, options);
  if (code === "ENOTDIR") return new RolloutError("config_invalid", `the ${kind} ${path} is not a directory`);
  return new RolloutError("config_invalid", `the ${kind} ${path} cannot be read: ${messageOf(error)}`, {
    cause: error,
  });
}

async function explainNoTask(path: string): Promise<string> {
  if (await exists(join(path, "task.toml"))) {
    return "the path is itself a task: give the directory above it, or give it as a task";
  }
  const entries = await readdir(path, { withFileTypes: true });
  for (const entry of entries.filter((candidate) => candidate.isDirectory())) {
    const inside = join(path, entry.name);
    if ((await findTasks(inside).catch(() => [])).length > 0) return `there are tasks one level deeper: use ${inside}`;
  }
  return "a task is a directory with a task.toml, directly inside the dataset's directory";
}
