import { basename, dirname } from "node:path";
import { readOwner } from "../../base/process-owner.ts";
import { shellWord, shownPath } from "../../base/shown-path.ts";
import { fromStoredResult } from "../../datasets/results/to-stored-result.ts";
import { readConfig } from "../../experiments/output/directory/config-file.ts";
import { openDirectoryShelf } from "../../experiments/output/directory/directory-shelf.ts";
import type { ExperimentShelf } from "../../experiments/output/experiment-shelf.ts";
import { readEarlierSessions } from "../../experiments/output/earlier-sessions.ts";
import { readPlan } from "../../experiments/output/plan-experiment.ts";
import { openStoreShelf } from "../../experiments/output/store/store-shelf.ts";
import { toStoredResult, toStoredScore } from "../../experiments/output/store/stored-run.ts";
import {
  describeHead,
  describeNotes,
  toUnit,
  toWholeMark,
  type ExperimentNames,
} from "../../experiments/run/describe-experiment.ts";
import type { RunTail } from "../../store/run.ts";
import type { RunRecord } from "../../store/run-store.ts";
import type { Store } from "../../store/store.ts";
import type { CliContext } from "../cli-context.ts";
import { printRun, type ShownRun, type ShowRunOptions } from "../show-run.ts";
import { storeWords } from "../with-store.ts";

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
  const { repetitions, file, passAt, params } = readPlan(run);
  const { id, name, total } = run;
  const names: ExperimentNames = {
    id,
    name,
    evaluators: readEarlierSessions(run).evaluators,
    total,
    repetitions,
    concurrency: 1,
    passAt,
    params,
    location: place.location,
  };
  // Of one whose process died only its last sign is known.
  let lastAt = run.createdAt;
  const onUnit = (endedAt: number): void => void (lastAt = Math.max(lastAt, endedAt));
  const endAt = (): number => run.endedAt ?? (run.isHeld ? clock.now() : lastAt);
  return {
    run,
    head: describeHead(names),
    tail: (finished, next) => describeTail(run, finished, endAt(), next),
    units: readUnits(shelf, run, names, onUnit),
    word: place.word,
    summary: run.summary,
    unfinished: describeUnfinished(
      run,
      `rollout experiment ${shellWord(file ?? "FILE")} --resume ${shellWord(id)}${place.words}`,
    ),
  };
}

async function* readUnits(
  shelf: ExperimentShelf,
  run: RunRecord,
  names: ExperimentNames,
  onUnit: (endedAt: number) => void,
): ShownRun["units"] {
  for await (const kept of shelf.runs(run.id)) {
    onUnit(kept.startedAt + kept.durationMs);
    const evaluations = [...kept.evaluations.values()];
    const stored = {
      result: toStoredResult(kept, run.datasetVersion ?? 0),
      scores: evaluations.map((outcome) => toStoredScore(kept.run, outcome)),
    };
    yield { unit: toUnit({ ...kept, evaluations }, names), item: fromStoredResult(stored) };
  }
}

/** One that came to its end is finished, and still has what can be run again. */
function describeUnfinished({ status }: RunRecord, command: string): string {
  return status === "completed"
    ? `What failed runs again with \`${command}\`.`
    : `The run is not finished; \`${command}\` goes on with it.`;
}

function describeTail(run: RunRecord, finished: number, endAt: number, next: readonly string[]): RunTail {
  const earlier = readEarlierSessions(run);
  return {
    status: run.status === "completed" ? "completed" : "unfinished",
    skipped: Math.max(0, run.total - finished),
    hasFailed: run.status === "completed" && run.failed > 0 && run.failed === run.total,
    durationSec: earlier.durationSec ?? (endAt - run.createdAt) / 1000,
    sessions: earlier.sessions,
    wholeMarks: earlier.aggregates.map((answer) => toWholeMark(answer, earlier.scorings)),
    notes: describeNotes(earlier),
    next,
  };
}
