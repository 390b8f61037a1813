import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
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
import type { RunPlan, RunRecord } from "../../../store/run-store.ts";
import { exampleLine, type ExampleSource } from "../../examples/example-source.ts";
import { openExampleFile } from "../../examples/open-example-file.ts";
import { planRuns } from "../../run/plan-runs.ts";
import type { ExperimentShelf } from "../experiment-shelf.ts";
import { readPlan } from "../plan-experiment.ts";
import { readConfig, writeConfig } from "./config-file.ts";
import { openDirectoryOutput } from "./directory-output.ts";
import { openKeptRuns } from "./kept-runs.ts";
import { countRuns } from "./count-runs.ts";
import { readRecord } from "./read-record.ts";

export interface DirectoryShelfOptions {
  /** Holds a directory for each experiment. */
  readonly directory: string;
  readonly host: Host;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

// Of what is written together.
const leastAtOnce = 1 << 16;

/** Experiments as directories of JSON lines: config.json, examples.jsonl, runs.jsonl, evaluations.jsonl, summary.json or error.txt. */
export function openDirectoryShelf(options: DirectoryShelfOptions): ExperimentShelf {
  const { clock, signal } = options;
  const directoryOf = (id: string): string => {
    if (id === toPathSegment(id)) return join(options.directory, id);
    throw new RolloutError("usage_invalid", `"${id}" cannot be the name of a directory`);
  };
  return {
    find: async (id) => await readRecord(directoryOf(id), options),
    list: () => listRecords(options),
    async begin(plan, examples) {
      const directory = directoryOf(plan.id);
      await makeDirectory(directory);
      await using taken = new AsyncDisposableStack();
      taken.use(await hold(directory, options));
      if (existsSync(join(directory, "config.json"))) throw takenError(shownPath(directory, options.host.cwd));
      const copy = join(directory, "examples.jsonl");
      if (examples.plainFile === null) await writeStreamAtomic(copy, exampleLines(examples), noSecrets);
      else await copyFileAtomic(examples.plainFile, copy);
      await writeConfig(directory, plan, clock.now());
      return await openDirectoryOutput({ directory, mode: "begin", held: taken.move() });
    },
    async resume(id) {
      const directory = directoryOf(id);
      return await openDirectoryOutput({ directory, mode: "resume", held: await hold(directory, options) });
    },
    async rescore(id) {
      const directory = directoryOf(id);
      return await openDirectoryOutput({ directory, mode: "rescore", held: await hold(directory, options) });
    },
    count: (id) => countRuns(join(directoryOf(id), "runs.jsonl")),
    async *runs(id) {
      const config = await readConfig(directoryOf(id));
      if (config === null) return;
      await using kept = await openKeptRuns(directoryOf(id));
      const examples = await openExamples(directoryOf(id), config.plan, signal);
      for await (const planned of planRuns(examples.read(), readPlan(config.plan).repetitions))
        for (const run of planned) {
          const found = await kept.find(run);
          if (found !== null) yield found;
        }
    },
    async examples(id) {
      const config = await readConfig(directoryOf(id));
      return config && (await openExamples(directoryOf(id), config.plan, signal));
    },
  };
}

async function* listRecords(options: DirectoryShelfOptions): AsyncGenerator<RunRecord, void> {
  const names = await readdir(options.directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") throw new RolloutError("not_found", `${options.directory} does not exist`);
    throw error;
  });
  const records: RunRecord[] = [];
  for (const name of names) {
    const record = await readRecord(join(options.directory, name), options);
    // One that was moved goes by its new name.
    if (record !== null) records.push({ ...record, id: name });
  }
  yield* records.sort((a, b) => b.createdAt - a.createdAt);
}

/** The examples as they were copied; where they are from tells what they are when their hash does not. */
async function openExamples(directory: string, plan: RunPlan, signal: AbortSignal): Promise<ExampleSource> {
  const path = join(directory, "examples.jsonl");
  const source = await openExampleFile({ path, name: readPlan(plan).dataset ?? path, signal });
  const { datasetId: id, datasetVersion: version } = plan;
  return id === null || version === null ? source : { ...source, dataset: { id, version }, hash: null };
}

async function* exampleLines(examples: ExampleSource): AsyncGenerator<string, void> {
  let text = "";
  for await (const some of examples.read()) {
    for (const example of some) text += `${exampleLine(example)}\n`;
    if (text.length < leastAtOnce) continue;
    yield text;
    text = "";
  }
  yield text;
}

async function hold(directory: string, options: DirectoryShelfOptions): Promise<AsyncDisposable> {
  const path = join(directory, ".lock");
  const lock = await tryProcessLock(path, options);
  if (lock !== null) return lock;
  const { pid, hostname } = (await readHolder(path))?.owner ?? { pid: "?", hostname: "?" };
  throw new RolloutError("in_use", `${directory} is in use by process ${pid} on ${hostname}`, {
    hint: "wait until it has ended, or end that process; what it wrote is kept",
  });
}

function takenError(directory: string): RolloutError {
  return new RolloutError("already_exists", `${directory} holds an experiment already`, {
    hint: `go on with it with --resume ${shellWord(directory)}, or choose another --name`,
  });
}
