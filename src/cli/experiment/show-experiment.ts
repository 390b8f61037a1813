import { basename, dirname } from "node:path";
import type { JsonObject } from "../../base/json.ts";
import { readOwner } from "../../base/process-owner.ts";
import { shellWord, shownPath } from "../../base/shown-path.ts";
import { fromStoredResult } from "../../datasets/results/to-stored-result.ts";
import { readConfig } from "../../experiments/output/directory/config-file.ts";
import { openDirectoryShelf } from "../../experiments/output/directory/directory-shelf.ts";
import type { ExperimentShelf } from "../../experiments/output/experiment-shelf.ts";
import { readPlan } from "../../experiments/output/plan-experiment.ts";
import { openStoreShelf } from "../../experiments/output/store/store-shelf.ts";
import { toStoredResult, toStoredScore } from "../../experiments/output/store/stored-run.ts";
import { describeHead, toUnit, type ExperimentNames } from "../../experiments/run/describe-experiment.ts";
import type { RunTail, WholeMark } from "../../store/run.ts";
import type { RunRecord } from "../../store/run-store.ts";
import type { Store } from "../../store/store.ts";
import type { CliContext } from "../cli-context.ts";
import { printRun, type ShownRun, type ShowRunOptions } from "../show-run.ts";
import { storeWords } from "../with-store.ts";
import { scoredBy } from "./scored-by.ts";

/** Shows an experiment of a store. */
export async function showStoredExperiment(
  store: Store,
  run: RunRecord,
  options: ShowRunOptions,
  context: CliContext,
): Promise<number> {
  const shelf = openStoreShelf({ store, owner: readOwner(context.host), clock: context.clock });
  const words = storeWords(options, store.location);
  const place = { location: store.location, word: `${shellWord(run.id)}${words}`, words };
  return await printRun(describe(shelf, run, place, context), options, context);
}

/** Shows an experiment in a directory; null when there is none in it. */
export async function showExperimentDirectory(
  directory: string,
  options: ShowRunOptions,
  context: CliContext,
): Promise<number | null> {
  const { host, clock } = context;
  if ((await readConfig(directory)) === null) return null;
  const { signal } = new AbortController();
  const shelf = openDirectoryShelf({ directory: dirname(directory), host, clock, signal });
  const found = await shelf.find(basename(directory));
  if (found === null) return null;
  const location = shownPath(directory, host.cwd);
  const words = ` --output-dir ${shellWord(shownPath(dirname(directory), host.cwd))}`;
  const run = { ...found, id: basename(directory) };
  return await printRun(
    describe(shelf, run, { location, word: shellWord(location), words }, context),
    options,
    context,
  );
}

interface Place {
  readonly location: string;
  readonly word: string;
  /** What names the place to `rollout experiment`. */
  readonly words: string;
}

function describe(shelf: ExperimentShelf, run: RunRecord, place: Place, { clock }: CliContext): ShownRun {
  const { repetitions, file } = readPlan(run);
  const { id, name, total } = run;
  const names: ExperimentNames = {
    id,
    name,
    evaluators: scoredBy(run),
    total,
    repetitions,
    concurrency: 1,
    location: place.location,
  };
  return {
    run,
    head: describeHead(names),
    tail: (finished, next) => describeTail(run, finished, clock.now(), next),
    units: readUnits(shelf, run, names),
    word: place.word,
    resumeHint: `\`rollout experiment ${shellWord(file ?? "FILE")} --resume ${shellWord(id)}${place.words}\` goes on with it`,
  };
}

async function* readUnits(shelf: ExperimentShelf, run: RunRecord, names: ExperimentNames): ShownRun["units"] {
  for await (const kept of shelf.runs(run.id)) {
    const evaluations = [...kept.evaluations.values()];
    const stored = {
      result: toStoredResult(kept, run.datasetVersion ?? 0),
      scores: evaluations.map((outcome) => toStoredScore(kept.run, outcome)),
    };
    yield { unit: toUnit({ ...kept, evaluations }, names), item: fromStoredResult(stored) };
  }
}

function describeTail(run: RunRecord, finished: number, now: number, next: readonly string[]): RunTail {
  return {
    status: run.status === "completed" ? "completed" : "unfinished",
    skipped: Math.max(0, run.total - finished),
    durationSec: ((run.endedAt ?? now) - run.createdAt) / 1000,
    sittings: 1,
    wholeMarks: wholeMarksOf(run),
    next,
  };
}

function wholeMarksOf({ summary }: RunRecord): WholeMark[] {
  const aggregates = (summary as JsonObject | null)?.["aggregates"];
  if (!Array.isArray(aggregates)) return [];
  return (aggregates as JsonObject[]).map(({ aggregate, score, explanation, error }) => ({
    name: typeof aggregate === "string" ? aggregate : "",
    value: typeof score === "number" ? score : null,
    note: typeof error === "string" ? error : typeof explanation === "string" ? explanation : null,
  }));
}
