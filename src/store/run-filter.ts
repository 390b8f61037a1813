import { matchesFilter, type Filter } from "./filter.ts";
import { durationSecOf, type Run } from "./run.ts";

const fields: Readonly<Record<string, (run: Run) => readonly string[]>> = {
  id: ({ id }) => [id],
  name: ({ name }) => [name],
  kind: ({ kind }) => [kind],
  status: ({ status }) => [status],
  target: ({ targets }) => targets,
  agent: ({ targets }) => targets,
  dataset: ({ datasets }) => datasets.flatMap(({ name, version }) => [name, `${name}@${version ?? ""}`]),
  git: ({ git }) => (git === null ? [] : [git.revision, git.revision.slice(0, 7)]),
};

const numbers: Readonly<Record<string, (run: Run) => number | null>> = {
  score: ({ headline }) => headline?.value ?? null,
  cost: ({ spendUsd }) => spendUsd,
  duration: durationSecOf,
  failed: ({ counts }) => counts.failed,
  done: ({ counts }) => counts.finished,
  total: ({ plan }) => plan.total,
};

/** The names that a filter of runs can use. `tag.NAME` stands for every tag. */
export const runFieldNames: readonly string[] = [...Object.keys(fields), "tag.NAME"];
export const runNumberNames: readonly string[] = Object.keys(numbers);

/** Returns whether a run meets every term of a filter. */
export function matchesRunFilter(filter: Filter, run: Run): boolean {
  return matchesFilter(filter, {
    field: (name) => fieldOf(run, name),
    number: (name) => numbers[name]?.(run) ?? null,
    text: () => [run.id, run.name, run.description ?? "", ...run.targets].join("\n").toLowerCase(),
  });
}

function fieldOf(run: Run, name: string): readonly string[] {
  const [, tag] = /^tag\.(.+)$/.exec(name) ?? [];
  if (tag === undefined) return fields[name]?.(run) ?? [];
  return Object.entries(run.tags).flatMap(([key, value]) => (key.toLowerCase() === tag ? [value] : []));
}
