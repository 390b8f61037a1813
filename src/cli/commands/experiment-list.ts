import { plainText } from "../../base/terminal-text.ts";
import { shellWord } from "../../base/shown-path.ts";
import { readEarlierSessions } from "../../experiments/output/earlier-sessions.ts";
import { readPlan } from "../../experiments/output/plan-experiment.ts";
import { groupDigits, markText } from "../../report/number-text.ts";
import { renderTable, type Column } from "../../report/text-table.ts";
import type { RunRecord } from "../../store/run-store.ts";
import type { CliContext } from "../cli-context.ts";
import { jsonText } from "../dataset-json.ts";
import { recordJson } from "../eval/run-json.ts";
import { exitCodes } from "../exit-codes.ts";
import { openExperimentPlace, type ExperimentPlace, type PlaceOptions } from "../experiment/open-experiment-place.ts";
import { isMissingStore } from "../open-store.ts";
import { showWords } from "../experiment/show-words.ts";

export interface ExperimentListOptions extends PlaceOptions {
  readonly json?: boolean;
}

/** `rollout experiment list`: the experiments of a store or a directory, newest first. */
export async function experimentListCommand(options: ExperimentListOptions, context: CliContext): Promise<number> {
  const { terminal } = context;
  const { signal } = new AbortController();
  await using place = openExperimentPlace(options, signal, context);
  const { all, missing } = await readExperiments(place);
  const [newest] = all;
  // Two that are about the same thing are worth a comparison.
  const older = all.find((run) => run !== newest && run.name === newest?.name);
  if (options.json === true)
    terminal.out(jsonText({ experiments: all.map((run) => ({ ...recordJson(run), summary: run.summary })) }));
  else if (newest === undefined)
    terminal.out(`${missing}there are no experiments\nnext: rollout experiment FILE --dataset DATASET\n`);
  else {
    for (const line of renderTable(columnsOf(all), terminal.columns())) terminal.out(`${line}\n`);
    terminal.out(`next: ${showWords(newest.id, options)}\n`);
    if (older !== undefined)
      terminal.out(`      rollout experiment compare ${shellWord(older.id)} ${shellWord(newest.id)}${place.words}\n`);
  }
  return exitCodes.done;
}

// A store that is not there holds none.
async function readExperiments(
  place: ExperimentPlace,
): Promise<{ readonly all: readonly RunRecord[]; readonly missing: string }> {
  try {
    return { all: await Array.fromAsync((await place.openShelf("read")).list()), missing: "" };
  } catch (error) {
    if (!isMissingStore(error)) throw error;
    return { all: [], missing: `${plainText(error.message)}, so ` };
  }
}

function columnsOf(runs: readonly RunRecord[]): Column[] {
  const column = (title: string, align: Column["align"], text: (run: RunRecord) => string): Column => ({
    title,
    align,
    cells: runs.map((run) => ({ text: plainText(text(run)) })),
  });
  return [
    { ...column("id", "left", ({ id }) => id), cutTo: 48, shrinkTo: 8 },
    { ...column("name", "left", ({ name }) => name), cutTo: 24, drop: 3 },
    { ...column("dataset", "left", (run) => readPlan(run).dataset ?? ""), cutTo: 24, drop: 2 },
    column("runs", "right", ({ total }) => groupDigits(total)),
    column("failed", "right", ({ failed }) => groupDigits(failed)),
    { ...column("scores", "left", scoresOf), cutTo: 48, drop: 1 },
    column("status", "left", statusOf),
    { ...column("begun", "left", ({ createdAt }) => timeText(createdAt)), drop: 4 },
  ];
}

function scoresOf(run: RunRecord): string {
  const scores = (run.summary as { readonly average_scores?: Readonly<Record<string, number | null>> } | null)
    ?.average_scores;
  if (scores === undefined) return "";
  return readEarlierSessions(run)
    .evaluators.map((name) => `${name} ${scores[name] == null ? "-" : markText(scores[name])}`)
    .join(", ");
}

function statusOf({ status, isHeld, isFinished }: RunRecord): string {
  if (isHeld) return "running";
  if (status === "completed") return isFinished ? "completed" : "with failures";
  return "not finished";
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}
