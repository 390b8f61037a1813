import { createHash } from "node:crypto";
import { posix } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { suggest } from "../../base/suggest.ts";
import type { Dataset, TaskEntry } from "./task.ts";

/** Which tasks of a job are wanted; an empty list or null asks for nothing. */
export interface TaskSelection {
  /** Globs over the task's name, or over `dataset/task`. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly tags: readonly string[];
  readonly categories: readonly string[];
  /** The first so many of what is left. */
  readonly limit: number | null;
  /** A random so many of what is left, the same for the same seed. */
  readonly sample: number | null;
  readonly seed: number | string;
}

const longestList = 10;

/**
 * The wanted tasks of all datasets together, in their order; datasets that lose all theirs are left out.
 * Narrowing goes by include, exclude, tags, categories, limit, sample. Rejects with `config_invalid` when a word matches nothing.
 */
export function selectTasks(datasets: readonly Dataset[], selection: TaskSelection): Dataset[] {
  const all = datasets.flatMap((dataset) => dataset.tasks);
  checkMatches(all, selection);
  const { include, exclude, tags, categories, limit } = selection;
  let kept = all.filter(
    (task) =>
      (include.length === 0 || include.some((glob) => matchesTask(task, glob))) &&
      !exclude.some((glob) => matchesTask(task, glob)) &&
      (tags.length === 0 || tags.some((tag) => tagsOf(task).includes(tag))) &&
      (categories.length === 0 || categories.some((category) => categoryOf(task) === category)),
  );
  if (limit !== null) kept = kept.slice(0, limit);
  if (selection.sample !== null) kept = sampleTasks(kept, selection.sample, selection.seed);
  if (kept.length === 0) {
    const hint = `the job has ${all.length} tasks; loosen what narrows them`;
    throw new RolloutError("config_invalid", "no task is left after selection", { hint });
  }
  const wanted = new Set(kept);
  return datasets
    .map((dataset) => ({ ...dataset, tasks: dataset.tasks.filter((task) => wanted.has(task)) }))
    .filter((dataset) => dataset.tasks.length > 0);
}

// Each task draws its own lot from the seed and its name, so that other tasks coming or going hardly move the sample.
function sampleTasks(tasks: readonly TaskEntry[], count: number, seed: number | string): TaskEntry[] {
  const lots = tasks.map((task) => {
    const lot = createHash("sha256").update(`${seed}\0${task.datasetName}\0${task.name}`).digest("hex");
    return { task, lot };
  });
  lots.sort((a, b) => (a.lot < b.lot ? -1 : 1));
  const drawn = new Set(lots.slice(0, count).map(({ task }) => task));
  return tasks.filter((task) => drawn.has(task));
}

// A name matches itself alone, and with thousands of them the globs would take minutes.
const plainName = /^[\w-][\w.-]*(?:\/[\w-][\w.-]*)?$/;

function matchesTask(task: TaskEntry, glob: string): boolean {
  const names = [task.name, `${task.datasetName}/${task.name}`];
  return names.includes(glob) || (!plainName.test(glob) && names.some((name) => posix.matchesGlob(name, glob)));
}

function tagsOf(task: TaskEntry): readonly string[] {
  return task.status === "ready" ? task.config.tags : [];
}

function categoryOf(task: TaskEntry): string | null {
  return task.status === "ready" ? task.config.category : null;
}

function checkMatches(all: readonly TaskEntry[], selection: TaskSelection): void {
  const check = (
    kind: string,
    words: readonly string[],
    known: () => readonly string[],
    isMet: (word: string) => boolean,
  ) => {
    const idle = words.find((word) => !isMet(word));
    if (idle !== undefined) throw matchesNothing(kind, idle, [...new Set(known())].sort());
  };
  const names = (): string[] => all.map((task) => task.name);
  const categories = (): string[] => all.flatMap((task) => categoryOf(task) ?? []);
  const tags = (): string[] => all.flatMap(tagsOf);
  check("task", selection.include, names, (glob) => all.some((task) => matchesTask(task, glob)));
  check("tag", selection.tags, tags, (tag) => tags().includes(tag));
  check("category", selection.categories, categories, (category) => categories().includes(category));
}

function matchesNothing(kind: string, word: string, known: readonly string[]): RolloutError {
  const near = suggest(word.slice(word.lastIndexOf("/") + 1), known);
  const rest = known.length > longestList ? ` and ${known.length - longestList} more` : "";
  const list = known.length === 0 ? "there is none" : `there are: ${known.slice(0, longestList).join(", ")}${rest}`;
  const hint = near === undefined ? list : `did you mean "${near}"? ${list}`;
  return new RolloutError("config_invalid", `no ${kind} of the job matches "${word}"`, { hint });
}
