import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { plainJson } from "../../base/plain-json.ts";
import { noSecrets } from "../../base/redactor.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { writeStreamAtomic } from "../../base/writers/atomic-stream.ts";
import { countText } from "../../report/number-text.ts";
import { csvHeading, csvLine, type CsvColumns } from "../../report/unit-csv.ts";
import { unitJson } from "../../store/run-json.ts";
import type { Run } from "../../store/run.ts";
import type { RunSource } from "../../store/run-source.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { locateRun, type LocateOptions } from "../runs/locate-run.ts";
import { readUnits } from "../runs/read-units.ts";
import { unitQueryOf, type QueryOptions } from "../runs/unit-query.ts";

type Query = ReturnType<typeof unitQueryOf>;

export interface ExportOptions extends LocateOptions, QueryOptions {
  readonly csv?: string;
  readonly jsonl?: string;
}

/** `rollout export`: the units of a run as CSV or JSON lines, one row each. */
export async function exportCommand(
  word: string | undefined,
  options: ExportOptions,
  context: CliContext,
): Promise<number> {
  const { csv, jsonl } = options;
  const file = csv ?? jsonl;
  if (file === undefined || (csv !== undefined && jsonl !== undefined))
    throw new RolloutError("usage_invalid", "give one of --csv FILE and --jsonl FILE", {
      hint: "- is standard output",
    });
  await using located = await locateRun(word, options, context);
  const { run, source } = located;
  let count = 0;
  // Before the heading is printed: a filter may be wrong.
  const query = unitQueryOf(options, run);
  const lines = csv === undefined ? jsonLines(source, run, query) : csvLines(source, run, query);
  const counted = (async function* () {
    for await (const line of lines) {
      count++;
      yield line;
    }
  })();
  const { host, terminal } = context;
  if (file === "-") for await (const line of counted) terminal.out(line);
  else {
    const path = resolve(host.cwd, file);
    if (!existsSync(dirname(path)))
      throw new RolloutError("not_found", `${file} cannot be written: its directory does not exist`);
    await writeStreamAtomic(path, counted, noSecrets);
    const units = csv === undefined ? count : count - 1;
    terminal.err(`wrote ${countText(units, run.shape.unitNoun)} of ${run.name} to ${file}\n`);
  }
  return exitCodes.done;
}

async function* jsonLines(source: RunSource, run: Run, query: Query): AsyncGenerator<string, void> {
  for await (const unit of readUnits(source, run.id, query)) yield `${plainJson(unitJson(unit))}\n`;
}

async function* csvLines(source: RunSource, run: Run, query: Query): AsyncGenerator<string, void> {
  const { shape } = run;
  const repeatLabel = { job: "attempt", dataset: "repeat", experiment: "repetition" }[run.kind];
  const columns: CsvColumns = {
    labels: [...shape.groupBy, shape.itemLabel, repeatLabel],
    scores: [shape.scoreName, ...(shape.otherScores ?? [])].filter((name) => name !== ""),
  };
  yield csvHeading(columns);
  for await (const unit of readUnits(source, run.id, query)) yield csvLine(unit, columns);
}
