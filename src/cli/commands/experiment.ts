import { existsSync } from "node:fs";
import { basename, extname, resolve } from "node:path";
import type { JsonObject } from "../../base/json.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord } from "../../base/shown-path.ts";
import { firstExamples, type ExampleSource } from "../../experiments/examples/example-source.ts";
import { readEarlierSessions } from "../../experiments/output/earlier-sessions.ts";
import type { ExperimentOutput } from "../../experiments/output/experiment-output.ts";
import type { ExperimentRepository } from "../../experiments/output/experiment-repository.ts";
import { openNoOutput } from "../../experiments/output/no-output.ts";
import { checkSameExperiment, planExperiment, readPlan } from "../../experiments/output/plan-experiment.ts";
import type { DiscoverAnswer } from "../../experiments/protocol.ts";
import { countText, groupDigits } from "../../report/number-text.ts";
import { readOwner } from "../../base/process-owner.ts";
import type { Run } from "../../store/run.ts";
import { readOrigin, type OriginOptions } from "../run-origin.ts";
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

export interface ExperimentCommandOptions extends ExecutorOptions, PlaceOptions, OriginOptions {
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
  if (path === "list" && !existsSync(resolve(context.host.cwd, path)))
    throw new RolloutError("usage_invalid", "list is not an experiment file", {
      hint: "`rollout list --kind experiment` lists experiments",
    });
  const origin = readOrigin(given, context);
  const options = await locateResumed(given, context);
  const { signal } = told.interrupts;
  await using place = openExperimentPlace(options, signal, context);
  const dryCount = options.dryRun === true ? 1 : (options.dryRun ?? null);
  const repository = dryCount === null ? await place.openRepository() : null;
  const record =
    options.resume === undefined || repository === null ? null : await findExperiment(repository, options.resume);
  const known = record && readPlan(record);
  if (repository !== null && record !== null && options.quiet !== true)
    told.reporter.say(describeLeft(record, await repository.count(record.id)));
  const all = await findExamples({ options, place, repository, record, cwd: context.host.cwd, signal });
  const examples = dryCount === null ? all : firstExamples(all, dryCount);
  const id = options.resume ?? options.name ?? (await freeName(repository, path, context));
  const repetitions = options.repetitions ?? known?.repetitions ?? 1;
  const passAt = options.passAt ?? known?.passAt ?? 1;
  const open = async (discovered: DiscoverAnswer, params: JsonObject): Promise<ExperimentOutput> => {
    if (discovered.task === null)
      throw new RolloutError("config_invalid", `${path} has no task`, {
        hint: "mark the function that turns an input into an output as its task; `rollout experiment score` needs none",
      });
    const experiment = discovered.name ?? stemOf(path);
    const plan = planExperiment(
      {
        id,
        name: options.name ?? experiment,
        experiment,
        file: path,
        examples,
        params,
        repetitions,
        evaluators: discovered.evaluators,
        passAt,
        maxWorkers: options.maxWorkers,
        location: "",
      },
      { origin: await origin, owner: readOwner(context.host), now: context.clock.now() },
    );
    if (repository === null || dryCount !== null) return await openNoOutput(plan);
    if (record === null) return await repository.begin(plan, examples);
    checkSameExperiment(record, plan);
    return await repository.resume(id);
  };
  return await runExperimentFile(
    {
      begun,
      params: { ...known?.params, ...readParams(options.param ?? []) },
      repetitions,
      passAt,
      earlier: record === null ? undefined : readEarlierSessions(record),
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

/** Describes how far a resumed experiment came. */
function describeLeft({ id, plan }: Run, { succeeded, failed }: { succeeded: number; failed: number }): string {
  const { total } = plan;
  const left = total - succeeded;
  const done = `resuming ${id}: ${groupDigits(succeeded)} of ${countText(total, "run")} have an output`;
  if (left === 0) return `${done}; only evaluations can be missing`;
  const again = failed === 0 ? "" : ` (${groupDigits(failed)} failed before)`;
  return `${done}, ${groupDigits(left)} left${again}`;
}

/** Refuses options that have no meaning together. */
function checkOptions({ resume, name, dryRun }: ExperimentCommandOptions): void {
  if (resume === undefined) return;
  if (name !== undefined)
    throw new RolloutError(
      "usage_invalid",
      "--name cannot be combined with --resume: a resumed experiment keeps its name",
    );
  if (dryRun !== undefined)
    throw new RolloutError("usage_invalid", "--dry-run cannot be combined with --resume: a dry run stores nothing");
}

/** Returns the options with the place and the id of the experiment to resume. */
async function locateResumed(
  options: ExperimentCommandOptions,
  context: CliContext,
): Promise<ExperimentCommandOptions> {
  if (options.resume === undefined) return options;
  const { id, options: located } = await locateExperiment(options.resume, options, context);
  return { ...located, resume: id };
}

interface ExamplesRequest {
  readonly options: ExperimentCommandOptions;
  readonly place: ExperimentPlace;
  readonly repository: ExperimentRepository | null;
  readonly record: Run | null;
  readonly cwd: string;
  readonly signal: AbortSignal;
}

/** The examples that were named, else those that the experiment was begun with. */
async function findExamples({ options, place, repository, record, ...rest }: ExamplesRequest): Promise<ExampleSource> {
  const kept = options.dataset === undefined && record !== null ? await repository?.examples(record.id) : null;
  if (kept) return kept;
  const word = options.dataset ?? (record && (await nameOfDataset(record, place)));
  if (word === null)
    throw new RolloutError("usage_invalid", "the examples are missing", {
      hint: "name a file or a stored dataset with --dataset",
    });
  return await openExamples({ word, openStore: () => place.openStore(), ...rest });
}

/** A dataset keeps its id whatever it is called. */
async function nameOfDataset(record: Run, place: ExperimentPlace): Promise<string | null> {
  const { dataset: name, datasetId, datasetVersion } = readPlan(record);
  if (datasetId === null) return name;
  const dataset = await (await place.openStore()).datasets.find(datasetId);
  return `${dataset?.name ?? datasetId}@${datasetVersion ?? 1}`;
}

function stemOf(path: string): string {
  return basename(path, extname(path));
}

/** The file and the time, with `-2`, `-3` behind it when that is taken. */
async function freeName(repository: ExperimentRepository | null, path: string, { clock }: CliContext): Promise<string> {
  const stamp = new Date(clock.now()).toISOString().slice(0, 19).replaceAll(/[:T]/g, "-");
  const name = `${stemOf(path)}-${stamp}`;
  for (let n = 1; ; n++) {
    const free = n === 1 ? name : `${name}-${n}`;
    if (repository === null || (await repository.find(free)) === null) return free;
  }
}
