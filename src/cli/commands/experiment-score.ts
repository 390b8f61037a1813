import { shellWord } from "../../base/shown-path.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { toRescoredRun, type ExperimentRepository } from "../../experiments/output/experiment-repository.ts";
import { readEarlierSessions } from "../../experiments/output/earlier-sessions.ts";
import { readPlan } from "../../experiments/output/plan-experiment.ts";
import type { DueRun } from "../../experiments/run/experiment-run.ts";
import type { Run } from "../../store/run.ts";
import type { CliContext } from "../cli-context.ts";
import { beginExecutor } from "../experiment/begin-executor.ts";
import { exitWhenForced } from "../experiment/exit-when-forced.ts";
import { locateExperiment } from "../experiment/locate-experiment.ts";
import { showWords } from "../experiment/show-words.ts";
import { findExperiment, openExperimentPlace, type PlaceOptions } from "../experiment/open-experiment-place.ts";
import { readParams } from "../experiment/read-params.ts";
import { runExperimentFile, type ExecutorOptions } from "../experiment/run-experiment-file.ts";
import { listenAndReport } from "../report-options.ts";

export interface ScoreCommandOptions extends ExecutorOptions, PlaceOptions {}

/** `rollout experiment score`: evaluates the outputs of an experiment again and returns the exit code. */
export async function experimentScoreCommand(
  word: string,
  path: string,
  given: ScoreCommandOptions,
  context: CliContext,
): Promise<number> {
  const { id, options } = await locateExperiment(word, given, context);
  using told = listenAndReport(options, context, "runs");
  using _exit = exitWhenForced(told.interrupts, context);
  const { signal } = told.interrupts;
  await using begun = beginExecutor({ path, options, reporter: told.reporter, signal }, context);
  await using place = openExperimentPlace(options, signal, context);
  const repository = await place.openRepository();
  const record = await findExperiment(repository, id);
  const { params, repetitions, passAt } = readPlan(record);
  return await runExperimentFile(
    {
      begun,
      passAt,
      earlier: readEarlierSessions(record),
      params: readParams(options.param ?? []),
      inherited: params,
      repetitions,
      examples: noExamples,
      rescore: { file: path, runs: (evaluators) => readRuns(repository, record, evaluators) },
      openOutput: async ({ evaluators }) => {
        if (evaluators.length === 0) throw new RolloutError("config_invalid", `${path} has no evaluators`);
        return await repository.rescore(id);
      },
      isPhased: false,
      taskLimitMs: 0,
      again: `rollout experiment score ${shellWord(id)} ${shellWord(path)}${place.words}`,
      look: showWords(id, options),
    },
    options,
    told,
    context,
  );
}

async function* noExamples(): AsyncGenerator<never, void> {}

async function* readRuns(
  repository: ExperimentRepository,
  { id }: Run,
  evaluators: readonly string[],
): AsyncGenerator<DueRun, void> {
  let count = 0;
  for await (const stored of repository.runs(id)) {
    count++;
    yield { run: stored.run, known: toRescoredRun(stored, evaluators) };
  }
  if (count === 0) throw new RolloutError("config_invalid", `no task of experiment "${id}" was answered`);
}
