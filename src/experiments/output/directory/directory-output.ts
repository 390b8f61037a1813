import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "../../../base/json.ts";
import { noSecrets } from "../../../base/redactor.ts";
import { writeFileAtomic, writeJsonAtomic } from "../../../base/writers/atomic-file.ts";
import { openLineFile } from "../../../base/writers/line-file.ts";
import type { ExperimentSummary } from "../../run/experiment-tally.ts";
import type { ExperimentOutput } from "../experiment-output.ts";
import { toEarlierRun } from "../experiment-shelf.ts";
import { summaryJson } from "../summary-json.ts";
import { compactLines } from "./compact-lines.ts";
import { openKeptRuns } from "./kept-runs.ts";
import { evaluationKey, evaluationLine, runKey, runLine } from "./result-lines.ts";

export interface DirectoryOutputOptions {
  readonly directory: string;
  readonly mode: "begin" | "resume" | "rescore";
  /** What was taken to write here, given back with the output. */
  readonly held: AsyncDisposable;
}

/** An experiment that goes to a directory of JSON lines. */
export async function openDirectoryOutput({
  directory,
  mode,
  held,
}: DirectoryOutputOptions): Promise<ExperimentOutput> {
  const path = (name: string): string => join(directory, name);
  await using opened = new AsyncDisposableStack();
  opened.use(held);
  const kept = mode === "resume" ? opened.use(await openKeptRuns(directory)) : null;
  const runs = opened.use(await openLineFile(path("runs.jsonl"), noSecrets));
  const evaluations = opened.use(await openLineFile(path("evaluations.jsonl"), noSecrets));
  if (mode === "resume") {
    await reopenSummary(path("summary.json"));
    await rm(path("error.txt"), { force: true });
  }
  const open = opened.move();
  return {
    location: directory,
    findEarlier:
      kept &&
      (async (run) => {
        const found = await kept.find(run);
        return found && toEarlierRun(found);
      }),
    saveRun: (answered) => runs.append(runLine(answered)),
    saveEvaluation: (run, outcome) => evaluations.append(evaluationLine(run, outcome)),
    async end(summary) {
      if (summary.error !== null) return await writeFileAtomic(path("error.txt"), `${summary.error}\n`, noSecrets);
      for (const file of [runs, evaluations]) await file[Symbol.asyncDispose]();
      // What was done again stands in two lines until now.
      if (mode === "resume") await compactLines(path("runs.jsonl"), runKey);
      if (mode !== "begin") await compactLines(path("evaluations.jsonl"), evaluationKey);
      if (mode !== "rescore" || isComplete(summary))
        await writeJsonAtomic(path("summary.json"), summaryJson(summary), noSecrets);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** It is under way again, and what is known of the sessions before must outlive this one. */
async function reopenSummary(path: string): Promise<void> {
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null) return;
  await writeJsonAtomic(path, { ...(JSON.parse(text) as JsonObject), status: "running" }, noSecrets);
}

function isComplete({ status }: ExperimentSummary): boolean {
  return status === "completed";
}
