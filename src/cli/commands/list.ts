import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { plainJson } from "../../base/plain-json.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord, shownPath } from "../../base/shown-path.ts";
import { describeUnknown } from "../../base/suggest.ts";
import { plainText } from "../../base/terminal-text.ts";
import { headlinesText, statusText } from "../../report/headline-text.ts";
import { costText, durationText, elapsedText, groupDigits } from "../../report/number-text.ts";
import { renderTable, type Column } from "../../report/text-table.ts";
import { checkFilterNames, parseFilter } from "../../store/filter.ts";
import { listRuns } from "../../store/find-run.ts";
import { matchesRunFilter, runFieldNames, runNumberNames } from "../../store/run-filter.ts";
import { runJson } from "../../store/run-json.ts";
import { durationSecOf, runStatuses, type Run, type RunKind, type RunStatus } from "../../store/run.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { parseTags } from "../run-origin.ts";
import { openRunSource, type RunSourceOptions } from "../runs/open-run-source.ts";

export interface ListOptions extends RunSourceOptions {
  readonly kind?: string;
  readonly status?: string;
  readonly tag?: readonly string[];
  readonly name?: string;
  readonly limit?: number;
  readonly filter?: string;
  readonly json?: boolean;
}

const kinds: readonly RunKind[] = ["job", "dataset", "experiment"];
const defaultLimit = 20;

/** `rollout list`: the runs of the store, of job directories and of experiment directories, newest first. */
export async function listCommand(
  paths: readonly string[],
  options: ListOptions,
  context: CliContext,
): Promise<number> {
  const { terminal } = context;
  const filter = {
    kind: options.kind === undefined ? undefined : (oneOf("--kind", options.kind, kinds) as RunKind),
    status: options.status === undefined ? undefined : (oneOf("--status", options.status, runStatuses) as RunStatus),
    name: options.name,
    tags: options.tag === undefined ? undefined : parseTags(options.tag),
  };
  const terms = options.filter === undefined ? [] : parseFilter(options.filter);
  checkFilterNames(terms, runFieldNames, runNumberNames);
  const limit = options.limit ?? (options.json === true ? Number.POSITIVE_INFINITY : defaultLimit);
  await using runs = await openRunSource({ ...options, paths }, context);
  const shown: Run[] = [];
  let isCut = false;
  for await (const run of listRuns(runs.source, filter)) {
    if (!matchesRunFilter(terms, run)) continue;
    isCut = shown.length === limit;
    if (isCut) break;
    shown.push(run);
  }
  for (const problem of runs.problems) terminal.err(`rollout: ${plainText(problem)}\n`);
  if (options.json === true) {
    terminal.out(`${plainJson({ schema_version: 1, runs: shown.map(runJson) }, 2)}\n`);
    return exitCodes.done;
  }
  const [newest] = shown;
  if (newest === undefined) {
    const isSelective = terms.length > 0 || Object.values(filter).some((value) => value !== undefined);
    const places = runs.places.map(plainText).join(", ");
    terminal.out(
      isSelective
        ? `no runs found in ${places} that match\nnext: rollout list${paths.map((path) => ` ${shellWord(path)}`).join("")}\n`
        : `no runs found in ${places}\nnext: rollout job.yaml, or rollout eval FILE\n`,
    );
    return exitCodes.done;
  }
  for (const line of renderTable(columnsOf(shown, context), terminal.columns())) terminal.out(`${line}\n`);
  if (isCut) terminal.out(`older runs are not shown; --limit ${limit * 2} shows more\n`);
  terminal.out(`next: ${showCommandOf(newest, paths, options, context)}\n`);
  return exitCodes.done;
}

/** Returns the command that shows a run of the list, with where it was found. */
function showCommandOf(run: Run, paths: readonly string[], { store }: ListOptions, { host }: CliContext): string {
  const directory = resolve(host.cwd, run.location);
  const isInDirectory = run.location !== "" && statSync(directory, { throwIfNoEntry: false })?.isDirectory() === true;
  if (paths.length > 0 && isInDirectory) return `rollout show ${shellWord(shownPath(directory, host.cwd))}`;
  return `rollout show ${shellWord(shortId(run))}${store === undefined ? "" : ` --store ${shellWord(store)}`}`;
}

function oneOf(option: string, word: string, known: readonly string[]): string {
  if (known.includes(word)) return word;
  throw new RolloutError("usage_invalid", `${option} ${word}: ${describeUnknown("value", word, known)}`, {
    hint: `one of ${known.join(", ")}`,
  });
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-/;

/** Returns what a person types to name a run: the first characters of a generated id. */
export function shortId({ id }: Pick<Run, "id">): string {
  return uuid.test(id) ? id.slice(0, 8) : id;
}

function columnsOf(runs: readonly Run[], { host, clock }: CliContext): Column[] {
  const column = (title: string, align: Column["align"], text: (run: Run) => string): Column => ({
    title,
    align,
    cells: runs.map((run) => ({ text: plainText(text(run)) })),
  });
  const now = clock.now();
  return [
    { ...column("run", "left", shortId), cutTo: 24, shrinkTo: 8 },
    { ...column("name", "left", ({ name }) => name), cutTo: 20, shrinkTo: 8 },
    { ...column("kind", "left", ({ kind }) => kind), drop: 1, isFirm: true },
    column("status", "left", (run) => `${statusText(run)}${isDirectoryGone(run, host.cwd) ? ", files gone" : ""}`),
    { ...column("target", "left", ({ targets }) => namesText(targets)), cutTo: 20, drop: 5 },
    { ...column("dataset", "left", ({ datasets }) => namesText(datasets.map(datasetText))), cutTo: 20, drop: 4 },
    { ...column("score", "left", headlinesText), cutTo: 24, shrinkTo: 12 },
    { ...column("done", "right", doneText), drop: 1, isFirm: true },
    ...(runs.some(({ spendUsd }) => spendUsd > 0)
      ? [{ ...column("cost", "right", ({ spendUsd }) => (spendUsd > 0 ? costText(spendUsd) : "")), drop: 3 }]
      : []),
    { ...column("time", "right", (run) => durationText(durationSecOf(run))), drop: 6 },
    { ...column("age", "right", ({ createdAt }) => ageText(now - createdAt)), drop: 2, isFirm: true },
  ];
}

function namesText(names: readonly string[]): string {
  return names.length > 2 ? `${names.slice(0, 2).join(", ")} +${names.length - 2}` : names.join(", ");
}

function datasetText({ name, version }: Run["datasets"][number]): string {
  return version === null ? name : `${name}@${version}`;
}

function doneText({ counts, plan }: Run): string {
  return `${groupDigits(counts.finished)}/${groupDigits(plan.total)}`;
}

function ageText(ms: number): string {
  return ms < 60_000 ? "now" : elapsedText(ms / 1000).replace(/(\d+[mhd]).*$/, "$1");
}

/** Returns whether a job is only in the store, because its directory is gone. */
export function isDirectoryGone({ kind, location }: Pick<Run, "kind" | "location">, cwd: string): boolean {
  return kind === "job" && location !== "" && !existsSync(resolve(cwd, location));
}

/** Returns the location of a run as a person would type it. */
export function shownLocation({ kind, location }: Pick<Run, "kind" | "location">, cwd: string): string {
  return kind === "job" ? shownPath(resolve(cwd, location), cwd) : location;
}
