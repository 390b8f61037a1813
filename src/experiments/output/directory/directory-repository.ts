import { join } from "node:path";
import { makeDirectory } from "../../../base/make-directory.ts";
import type { Clock } from "../../../base/clock.ts";
import type { Host } from "../../../base/host.ts";
import { readHolder, tryProcessLock } from "../../../base/process-lock.ts";
import { toPathSegment } from "../../../base/path-segment.ts";
import { noSecrets } from "../../../base/redactor.ts";
import { RolloutError } from "../../../base/rollout-error.ts";
import { shellWord, shownPath } from "../../../base/shown-path.ts";
import { copyFileAtomic, writeStreamAtomic } from "../../../base/writers/atomic-stream.ts";
import type { Run } from "../../../store/run.ts";
import { exampleLine, type ExampleSource } from "../../examples/example-source.ts";
import { openExampleFile } from "../../examples/open-example-file.ts";
import { planRuns } from "../../run/plan-runs.ts";
import type { ExperimentOutput } from "../experiment-output.ts";
import type { ExperimentRepository } from "../experiment-repository.ts";
import { readPlan } from "../plan-experiment.ts";
import { writeConfig } from "./config-file.ts";
import { openDirectoryOutput } from "./directory-output.ts";
import { openStoredExamples } from "./stored-examples.ts";
import { countRuns } from "./count-runs.ts";
import { isExperiment, lockName, readRun, writeRun } from "./run-file.ts";

export interface DirectoryRepositoryOptions {
  /** Holds a directory for each experiment. */
  readonly directory: string;
  readonly host: Host;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

// Written together.
const minChunkLength = 1 << 16;

/** Opens experiments as directories of JSON lines: config.json, examples.jsonl, runs.jsonl, evaluations.jsonl, summary.json or error.txt. */
export function openDirectoryRepository(options: DirectoryRepositoryOptions): ExperimentRepository {
  const { signal } = options;
  const directoryOf = (id: string): string => {
    if (id === toPathSegment(id)) return join(options.directory, id);
    throw new RolloutError("usage_invalid", `"${id}" cannot be the name of a directory`);
  };
  // A directory that was moved goes by its new name.
  const find = async (id: string): Promise<Run | null> => {
    const run = await readRun(directoryOf(id), options);
    return run && { ...run, id, location: shownPath(directoryOf(id), options.host.cwd) };
  };
  const get = async (id: string): Promise<Run> => {
    const run = await find(id);
    if (run === null) throw new RolloutError("not_found", `there is no experiment "${id}" in ${options.directory}`);
    return run;
  };
  const owner = { pid: options.host.pid, hostname: options.host.hostname };
  const reopen = async (id: string, mode: "resume" | "rescore"): Promise<ExperimentOutput> => {
    const directory = directoryOf(id);
    // Locking would create the directory of an unknown experiment.
    const { status, isResumable } = await get(id);
    await using taken = new AsyncDisposableStack();
    taken.use(await lockDirectory(directory, options));
    const run = { ...(await get(id)), status, isResumable, owner };
    return await openDirectoryOutput({ directory, mode, run, lock: taken.move() });
  };
  return {
    find,
    async begin(run, examples) {
      const directory = directoryOf(run.id);
      await makeDirectory(directory);
      await using taken = new AsyncDisposableStack();
      taken.use(await lockDirectory(directory, options));
      if (await isExperiment(directory)) throw takenError(shownPath(directory, options.host.cwd));
      const copy = join(directory, "examples.jsonl");
      if (examples.plainFile === null) await writeStreamAtomic(copy, exampleLines(examples), noSecrets);
      else await copyFileAtomic(examples.plainFile, copy);
      const located = { ...run, owner, location: shownPath(directory, options.host.cwd) };
      await writeConfig(directory, located);
      await writeRun(directory, located);
      return await openDirectoryOutput({ directory, mode: "begin", run: located, lock: taken.move() });
    },
    resume: (id) => reopen(id, "resume"),
    rescore: (id) => reopen(id, "rescore"),
    async count(id) {
      await get(id);
      return await countRuns(join(directoryOf(id), "runs.jsonl"));
    },
    async *runs(id) {
      const experiment = await get(id);
      await using stored = await openStoredExamples(directoryOf(id));
      const examples = await openExamples(directoryOf(id), experiment, signal);
      for await (const planned of planRuns(examples.read(), readPlan(experiment).repetitions))
        for (const run of planned) {
          const found = await stored.find(run);
          if (found !== null) yield found;
        }
    },
    async examples(id) {
      const run = await find(id);
      return run && (await openExamples(directoryOf(id), run, signal));
    },
  };
}

/** Opens the copied examples. Those of a dataset are identified by it and its version instead of a hash. */
async function openExamples(directory: string, run: Run, signal: AbortSignal): Promise<ExampleSource> {
  const path = join(directory, "examples.jsonl");
  const { dataset, datasetId: id, datasetVersion: version } = readPlan(run);
  const source = await openExampleFile({ path, name: dataset ?? path, signal });
  return id === null || version === null ? source : { ...source, dataset: { id, version }, hash: null };
}

async function* exampleLines(examples: ExampleSource): AsyncGenerator<string, void> {
  let text = "";
  for await (const some of examples.read()) {
    for (const example of some) text += `${exampleLine(example)}\n`;
    if (text.length < minChunkLength) continue;
    yield text;
    text = "";
  }
  yield text;
}

async function lockDirectory(directory: string, options: DirectoryRepositoryOptions): Promise<AsyncDisposable> {
  const path = join(directory, lockName);
  const lock = await tryProcessLock(path, options);
  if (lock !== null) return lock;
  const { pid, hostname } = (await readHolder(path))?.owner ?? { pid: "?", hostname: "?" };
  throw new RolloutError("in_use", `${directory} is in use by process ${pid} on ${hostname}`, {
    hint: "wait until that process ends, or end it; its results stay",
  });
}

function takenError(directory: string): RolloutError {
  return new RolloutError("already_exists", `${directory} already holds an experiment`, {
    hint: `resume it with --resume ${shellWord(directory)}, or choose another --name`,
  });
}
