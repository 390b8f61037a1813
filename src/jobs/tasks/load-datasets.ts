import { isDeepStrictEqual } from "node:util";
import { RolloutError } from "../../base/rollout-error.ts";
import type { DatasetRef } from "../config/job.ts";
import { createCommitFinder, type FindCommit } from "./find-commit.ts";
import { findDataset } from "./find-dataset.ts";
import { fetchGitTrees, type GitCacheOptions } from "./git/fetch-git-trees.ts";
import type { GitTree } from "./git/git-tree.ts";
import { loadDirectoryDataset, loadGivenTasks } from "./load-local-dataset.ts";
import { loadTask } from "./load-task.ts";
import { mapBounded } from "./map-bounded.ts";
import { readRegistry, type RegistryRef } from "./read-registry.ts";
import type { RegistryEntry, RegistryTask } from "./registry.ts";
import { showUrl } from "./show-url.ts";
import type { BrokenTask, Dataset, TaskEntry } from "./task.ts";

export interface LoadDatasetsOptions extends GitCacheOptions {
  /** How long a registry's server may take. */
  readonly registryLimitMs?: number | undefined;
}

type RegistryDatasetRef = DatasetRef & { readonly kind: "registry" };
interface Listed {
  readonly ref: RegistryDatasetRef;
  readonly entry: RegistryEntry;
}

/**
 * The datasets of a job in its order, each registry read once and each repository fetched once.
 * A broken task is an entry like any other; it rejects with a RolloutError when a dataset itself cannot be had.
 */
export async function loadDatasets(refs: readonly DatasetRef[], options: LoadDatasetsOptions): Promise<Dataset[]> {
  const { signal } = options;
  const findCommit = createCommitFinder({ ...options, stallMs: 30_000 });
  const local = new Map<DatasetRef, Dataset>();
  for (const ref of refs) {
    const dataset = await loadLocal(ref, findCommit, signal);
    if (dataset !== null) local.set(ref, dataset);
  }
  const listed = await listRegistryDatasets(
    refs.filter((ref) => ref.kind === "registry"),
    options,
  );
  const requests = listed.flatMap(({ entry }) => entry.tasks.map(toRequest));
  const trees = await fetchGitTrees(requests, options);
  const remote = new Map<DatasetRef, Dataset>();
  let from = 0;
  for (const { ref, entry } of listed) {
    const own = trees.slice(from, from + entry.tasks.length);
    from += entry.tasks.length;
    remote.set(ref, await loadRegistryDataset({ ref, entry }, own, signal));
  }
  return refs.flatMap((ref) => local.get(ref) ?? remote.get(ref) ?? []);
}

/** One dataset; the same as `loadDatasets` of a single reference. */
export async function loadDataset(ref: DatasetRef, options: LoadDatasetsOptions): Promise<Dataset> {
  const [dataset] = await loadDatasets([ref], options);
  if (dataset === undefined) throw new RolloutError("not_found", `the dataset ${ref.name} was not loaded`);
  return dataset;
}

function loadLocal(ref: DatasetRef, findCommit: FindCommit, signal: AbortSignal): Promise<Dataset | null> {
  if (ref.kind === "path") return loadDirectoryDataset(ref, findCommit, signal);
  return ref.kind === "tasks" ? loadGivenTasks(ref, findCommit, signal) : Promise.resolve(null);
}

async function listRegistryDatasets(
  refs: readonly RegistryDatasetRef[],
  options: LoadDatasetsOptions,
): Promise<Listed[]> {
  const registries: { ref: RegistryRef; entries: RegistryEntry[] }[] = [];
  const listed: Listed[] = [];
  for (const ref of refs) {
    let known = registries.find((registry) => isDeepStrictEqual(registry.ref, ref.registry));
    if (known === undefined) {
      const { signal, clock, registryLimitMs } = options;
      known = {
        ref: ref.registry,
        entries: await readRegistry(ref.registry, { signal, clock, limitMs: registryLimitMs }),
      };
      registries.push(known);
    }
    listed.push({ ref, entry: checkEntry(findDataset(known.entries, ref.name, ref.version)) });
  }
  return listed;
}

function checkEntry(entry: RegistryEntry): RegistryEntry {
  if (entry.tasks.length === 0) {
    throw new RolloutError("config_invalid", `the dataset "${entry.name}" of the registry has no task`);
  }
  const names = entry.tasks.map((task) => task.name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice === undefined) return entry;
  throw new RolloutError(
    "config_invalid",
    `the dataset "${entry.name}" of the registry has two tasks called "${twice}"`,
    {
      hint: "results are kept by name: rename one of them in the registry",
    },
  );
}

function toRequest(task: RegistryTask): { url: string; commit: string | null; path: string } {
  return { url: task.gitUrl, commit: task.gitCommitId, path: task.path };
}

async function loadRegistryDataset(
  { ref, entry }: Listed,
  trees: readonly GitTree[],
  signal: AbortSignal,
): Promise<Dataset> {
  const pairs = entry.tasks.flatMap((task, index) => {
    const tree = trees[index];
    return tree === undefined ? [] : [{ task, tree }];
  });
  const tasks = await mapBounded(pairs, 32, ({ task, tree }) => loadGitTask(task, tree, entry.name, signal));
  const pins = new Map<string, string>();
  for (const { task, tree } of pairs) {
    if (tree.commit !== null && tree.commit !== task.gitCommitId?.toLowerCase())
      pins.set(showUrl(task.gitUrl), tree.commit);
  }
  const where = "url" in ref.registry ? showUrl(ref.registry.url) : ref.registry.path;
  return {
    name: entry.name,
    version: entry.version,
    source: `${entry.name}${entry.version === null ? "" : `@${entry.version}`} of ${where}`,
    tasks,
    pins: [...pins].map(([url, commit]) => ({ url, commit })),
    nConcurrent: ref.nConcurrent,
  };
}

async function loadGitTask(
  task: RegistryTask,
  tree: GitTree,
  datasetName: string,
  signal: AbortSignal,
): Promise<TaskEntry> {
  const { name } = task;
  const shown = `${showUrl(task.gitUrl)}@${(tree.commit ?? "HEAD").slice(0, 8)}:${task.path}`;
  if (tree.status === "ready") {
    const { directory, commit } = tree;
    return loadTask({ directory, name, datasetName, gitCommitId: commit, displayPath: shown, confined: true, signal });
  }
  const { failureType, message, transient, commit } = tree;
  const problems: BrokenTask["problems"] = [{ file: shown, message, severity: "error" }];
  return {
    status: "broken",
    name,
    datasetName,
    directory: null,
    gitCommitId: commit,
    failureType,
    message,
    problems,
    transient,
  };
}
