import { basename, extname } from "node:path";
import type { JsonObject } from "../../base/json.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord } from "../../base/shown-path.ts";
import { firstExamples, type ExampleSource } from "../../experiments/examples/example-source.ts";
import { readEarlierSessions } from "../../experiments/output/earlier-sessions.ts";
import type { ExperimentOutput } from "../../experiments/output/experiment-output.ts";
import type { ExperimentShelf } from "../../experiments/output/experiment-shelf.ts";
import { openNoOutput } from "../../experiments/output/no-output.ts";
import { checkSameExperiment, planExperiment, readPlan } from "../../experiments/output/plan-experiment.ts";
import type { DiscoverAnswer } from "../../experiments/protocol.ts";
import { countText, groupDigits } from "../../report/number-text.ts";
import type { RunRecord } from "../../store/run-store.ts";
import type { CliContext } from "../cli-context.ts";
import type { BegunExecutor } from "../experiment/begin-executor.ts";
import { locateExperiment } from "../experiment/locate-experiment.ts";
import { openExamples } from "../experiment/open-examples.ts";
import {
  findExperiment,
  openExperimentPlace,
  type ExperimentPlace,
  type PlaceOptions,
} from "../experiment/open-experiment-place.ts";
import { showWords } from "../experiment/show-words.ts";
import { readParams } from "../experiment/read-params.ts";
import { runExperimentFile, type ExecutorOptions, type Told } from "../experiment/run-experiment-file.ts";

export interface ExperimentCommandOptions extends ExecutorOptions, PlaceOptions {
  readonly dataset?: string;
  readonly repetitions?: number;
  readonly passAt?: number;
  readonly name?: string;
  readonly dryRun?: number | true;
  readonly resume?: string;
  readonly phased?: boolean;
  readonly taskTimeout: number;
}

/** `rollout experiment`: runs an experiment file over a dataset and returns the exit code. */
export async function experimentCommand(
  path: string,
  given: ExperimentCommandOptions,
  { begun, told }: { readonly begun: BegunExecutor; readonly told: Told },
  context: CliContext,
): Promise<number> {
  checkOptions(given);
  const options = await locateResumed(given, context.host.cwd);
  const { signal } = told.interrupts;
  await using place = openExperimentPlace(options, signal, context);
  const dryCount = options.dryRun === true ? 1 : (options.dryRun ?? null);
  const shelf = dryCount === null ? await place.openShelf() : null;
  const record = options.resume === undefined || shelf === null ? null : await findExperiment(shelf, options.resume);
  const known = record && readPlan(record);
  if (shelf !== null && record !== null && options.quiet !== true)
    told.reporter.say(describeLeft(record, await shelf.count(record.id)));
  const all = await findExamples({ options, place, shelf, record, cwd: context.host.cwd, signal });
  const examples = dryCount === null ? all : firstExamples(all, dryCount);
  const id = options.resume ?? options.name ?? (await freeName(shelf, path, context));
  const repetitions = options.repetitions ?? known?.repetitions ?? 1;
  const passAt = options.passAt ?? known?.passAt ?? 1;
  const open = async (discovered: DiscoverAnswer, params: JsonObject): Promise<ExperimentOutput> => {
    if (discovered.task === null)
      throw new RolloutError("config_invalid", `${path} has no task`, {
        hint: "mark the function that turns an input into an output as its task; `rollout experiment score` needs none",
      });
    if (shelf === null || dryCount !== null) return await openNoOutput();
    const { evaluators } = discovered;
    const facts = {
      id,
      name: discovered.name ?? stemOf(path),
      file: path,
      examples,
      params,
      repetitions,
      evaluators,
      passAt,
    };
    const plan = planExperiment({ ...facts, maxWorkers: options.maxWorkers });
    if (record === null) return await shelf.begin(plan, examples);
    checkSameExperiment(record, plan);
    return await shelf.resume(id);
  };
  return await runExperimentFile(
    {
      begun,
      id,
      name: stemOf(path),
      params: { ...known?.params, ...readParams(options.param ?? []) },
      repetitions,
      passAt,
      earlier: record === null ? undefined : readEarlierSessions(record),
      exampleCount: examples.count,
      examples: () => examples.read(),
      openOutput: open,
      isPhased: options.phased === true,
      taskLimitMs: options.taskTimeout * 1000,
      again: dryCount === null ? `rollout experiment ${shellWord(path)} --resume ${shellWord(id)}${place.words}` : null,
      look: showWords(id, options),
    },
    options,
    told,
    context,
  );
}

/** How far an experiment came that is gone on with. */
function describeLeft({ id, total }: RunRecord, { succeeded, failed }: { succeeded: number; failed: number }): string {
  const left = total - succeeded;
  const done = `going on with ${id}: ${groupDigits(succeeded)} of ${countText(total, "run")} have their output`;
  if (left === 0) return `${done}; only evaluations can be missing`;
  const again = failed === 0 ? "" : ` (${groupDigits(failed)} failed before)`;
  return `${done}, ${groupDigits(left)} left${again}`;
}

/** Refuses options that have no meaning together. */
function checkOptions({ resume, name, dryRun }: ExperimentCommandOptions): void {
  if (resume === undefined) return;
  if (name !== undefined)
    throw new RolloutError("usage_invalid", "--name cannot stand beside --resume", {
      hint: "an experiment that is gone on with keeps its name; leave one of them out",
    });
  if (dryRun !== undefined)
    throw new RolloutError("usage_invalid", "--dry-run cannot stand beside --resume", {
      hint: "a rehearsal keeps nothing and goes on with nothing; leave one of them out",
    });
}

/** The same options with the place and the id of what is gone on with, also when it was named by its directory. */
async function locateResumed(options: ExperimentCommandOptions, cwd: string): Promise<ExperimentCommandOptions> {
  if (options.resume === undefined) return options;
  const { id, options: located } = await locateExperiment(options.resume, options, cwd);
  return { ...located, resume: id };
}

interface ExamplesRequest {
  readonly options: ExperimentCommandOptions;
  readonly place: ExperimentPlace;
  readonly shelf: ExperimentShelf | null;
  readonly record: RunRecord | null;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

/** The examples that were named, else those that the experiment was begun with. */
async function findExamples({ options, place, shelf, record, ...rest }: ExamplesRequest): Promise<ExampleSource> {
  const kept = options.dataset === undefined && record !== null ? await shelf?.examples(record.id) : null;
  if (kept) return kept;
  const word = options.dataset ?? (record && (await nameOfDataset(record, place)));
  if (word === null)
    throw new RolloutError("usage_invalid", "the examples are missing", {
      hint: "name a file or a stored dataset with --dataset",
    });
  return await openExamples({ word, openStore: () => place.openStore(), ...rest });
}

/** A dataset keeps its id whatever it is called. */
async function nameOfDataset(record: RunRecord, place: ExperimentPlace): Promise<string | null> {
  if (record.datasetId === null) return readPlan(record).dataset;
  const dataset = await (await place.openStore()).datasets.find(record.datasetId);
  return `${dataset?.name ?? record.datasetId}@${record.datasetVersion ?? 1}`;
}

function stemOf(path: string): string {
  return basename(path, extname(path));
}

/** The file and the time, with `-2`, `-3` behind it when that is taken. */
async function freeName(shelf: ExperimentShelf | null, path: string, { clock }: CliContext): Promise<string> {
  const stamp = new Date(clock.now()).toISOString().slice(0, 19).replaceAll(/[:T]/g, "-");
  const name = `${stemOf(path)}-${stamp}`;
  for (let n = 1; ; n++) {
    const free = n === 1 ? name : `${name}-${n}`;
    if (shelf === null || (await shelf.find(free)) === null) return free;
  }
}
