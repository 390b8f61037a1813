import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { JsonObject } from "../../../base/json.ts";
import { noSecrets } from "../../../base/redactor.ts";
import { writeFileAtomic, writeJsonAtomic } from "../../../base/writers/atomic-file.ts";
import { openLineFile } from "../../../base/writers/line-file.ts";
import type { Run } from "../../../store/run.ts";
import type { ExperimentOutput } from "../experiment-output.ts";
import { summaryJson } from "../summary-json.ts";
import { compactLines } from "./compact-lines.ts";
import { ReplacedOutputs } from "./replaced-outputs.ts";
import { writeRun } from "./run-file.ts";
import { openStoredExamples } from "./stored-examples.ts";
import { evaluationKey, evaluationLine, runKey, runLine } from "./result-lines.ts";

export interface DirectoryOutputOptions {
  readonly directory: string;
  readonly mode: "begin" | "resume" | "rescore";
  readonly run: Run;
  /** The lock of the directory, released with the output. */
  readonly lock: AsyncDisposable;
}

/** Stores an experiment in a directory of JSON lines. */
export async function openDirectoryOutput({
  directory,
  mode,
  run,
  lock,
}: DirectoryOutputOptions): Promise<ExperimentOutput> {
  const path = (name: string): string => join(directory, name);
  await using opened = new AsyncDisposableStack();
  opened.use(lock);
  const stored = mode === "resume" ? opened.use(await openStoredExamples(directory)) : null;
  const runs = opened.use(await openLineFile(path("runs.jsonl"), noSecrets));
  const evaluations = opened.use(await openLineFile(path("evaluations.jsonl"), noSecrets));
  if (mode === "resume") {
    await writeRun(directory, { ...run, status: "running", endedAt: null, error: null });
    await reopenSummary(path("summary.json"));
    await rm(path("error.txt"), { force: true });
  }
  const replaced = new ReplacedOutputs();
  const open = opened.move();
  return {
    run,
    findStored: stored && (async (planned) => replaced.note(await stored.find(planned))),
    async saveTask(answered) {
      for (const outcome of replaced.take(answered)) await evaluations.append(evaluationLine(answered.run, outcome));
      await runs.append(runLine(answered));
    },
    saveEvaluation: (evaluated, outcome) => evaluations.append(evaluationLine(evaluated.run, outcome)),
    update: async (now) => {
      if (mode !== "rescore") await writeRun(directory, now).catch(() => {});
    },
    async end(last, summary) {
      if (mode === "rescore" && summary.status === "failed") return;
      if (summary.error !== null) {
        await writeFileAtomic(path("error.txt"), `${summary.error}\n`, noSecrets);
        return await writeRun(directory, last);
      }
      for (const file of [runs, evaluations]) await file[Symbol.asyncDispose]();
      // A result that was made again has two lines until now.
      if (mode === "resume") await compactLines(path("runs.jsonl"), runKey);
      if (mode !== "begin") await compactLines(path("evaluations.jsonl"), evaluationKey);
      if (mode === "rescore" && summary.status !== "completed") return;
      await writeJsonAtomic(path("summary.json"), summaryJson(summary), noSecrets);
      await writeRun(directory, last);
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** Marks the summary of earlier sessions as running; it must outlive this session. */
async function reopenSummary(path: string): Promise<void> {
  const text = await readFile(path, "utf8").catch(() => null);
  if (text === null) return;
  await writeJsonAtomic(path, { ...(JSON.parse(text) as JsonObject), status: "running" }, noSecrets);
}
