import { InvalidArgumentError, Option, type Command } from "commander";
import type { CliContext } from "./cli-context.ts";
import { collect, seconds, wholeNumber } from "./job-options.ts";
import { addOriginOptions } from "./run-origin.ts";

/** Makes a command out of its name, what it does, and examples of it. */
export type MakeCommand = (name: string, summary: string, lines: readonly string[], under?: Command) => Command;

/** Adds `rollout experiment`, `rollout executor` and what stands below them. */
export function addExperimentCommands(
  make: MakeCommand,
  context: CliContext,
  setExitCode: (code: number) => void,
): void {
  const experiment = make("experiment", "run an experiment file, in any language, over the examples of a dataset", [
    "rollout experiment my_experiment.py --dataset examples.jsonl",
    "rollout experiment my-experiment.ts --dataset questions@3 --param model=small --repetitions 3",
    "rollout experiment my-experiment.sh --dataset examples.csv --executor 'bash executor.sh'",
    "rollout experiment my_experiment.py --dataset examples.jsonl --dry-run 2",
    "rollout experiment my_experiment.py --resume my_experiment-2026-01-31-12-00-00",
    "rollout experiment score my_experiment-2026-01-31-12-00-00 more_evaluators.py",
    "rollout experiment compare small large",
  ])
    .enablePositionalOptions()
    .argument("<file>", "a .py, .ts or .js file with a task and evaluators, or whatever --executor takes")
    .option("--dataset <dataset>", "examples: a JSONL, JSON or CSV file, or a stored dataset: name or name@version")
    .option("--repetitions <n>", "how often each example runs (default: 1)", wholeNumber)
    .option("--pass-at <score>", "a run passes whose first evaluator gives at least this (default: 1)", score)
    .option("--name <name>", "the experiment's id; the file and the time without it")
    .option("--dry-run [n]", "only the first n examples (1), and keep nothing", wholeNumber)
    .option("--resume <id>", "run what is left of this experiment, with what it was begun with")
    .option("--phased", "evaluate only once every task has been answered")
    .option("--task-timeout <seconds>", "for one task", seconds, 600);
  addOriginOptions(addSharedOptions(experiment)).action(async (file: string, options) =>
    setExitCode(await (await import("./experiment/begin-experiment.ts")).beginExperiment(file, options, context)),
  );

  const scoring = make(
    "score",
    "evaluate the outputs of an experiment again, without running its tasks",
    [
      "rollout experiment score my-experiment better_evaluators.py",
      "rollout experiment score my-experiment better_evaluators.py --output-dir experiments",
    ],
    experiment,
  )
    .argument("<experiment>", "the id of the experiment, or its directory")
    .argument("<file>", "a file whose evaluators are asked; evaluations of others stay as they are");
  addSharedOptions(scoring).action(async (id: string, file: string, options) =>
    setExitCode(
      await (await import("./commands/experiment-score.ts")).experimentScoreCommand(id, file, options, context),
    ),
  );

  addPlaceOptions(
    make(
      "compare",
      "what became better and worse from one experiment to another, example by example",
      [
        "rollout experiment compare small large",
        "rollout experiment compare experiments/small experiments/large --json",
      ],
      experiment,
    )
      .argument("<before>", "the id of an experiment, or its directory")
      .argument("<after>", "the one to compare it with"),
  )
    .option("--json", "as one JSON object")
    .action(async (before: string, after: string, options) =>
      setExitCode(
        await (
          await import("./commands/experiment-compare.ts")
        ).experimentCompareCommand(before, after, options, context),
      ),
    );

  const executor = make("executor", "programs that run the tasks and evaluators of experiments", [
    "rollout executor check my_experiment.py --input 1",
    "rollout executor check --input '\"two words\"' -- bash my-executor.sh",
  ]);
  executor
    .command("check")
    .description("check an executor in any language against every rule of the protocol")
    .argument("<command...>", "what starts it, behind --; or a .py, .ts or .js file")
    .option("--input <json>", "an input that its task takes (default: null)")
    .option("--expected <json>", "what is expected of that input")
    .option("--bad-input <json>", "an input that its task fails on")
    .option("--slow-input <json>", "an input that its task takes a second or more for")
    .option("--rule <name>", "only this rule (repeatable)", collect)
    .option("--timeout <seconds>", "for each answer", seconds, 10)
    .option("--json", "as one JSON object")
    .action(async (words: string[], options) =>
      setExitCode(await (await import("./commands/executor-check.ts")).executorCheckCommand(words, options, context)),
    );
}

function addPlaceOptions(command: Command): Command {
  return command
    .option("--store <location>", "a file or postgres://… for datasets and results (default: .rollout/rollout.db)")
    .option("--output-dir <directory>", "experiments are directories of JSON lines below this one instead");
}

function addSharedOptions(command: Command): Command {
  return addPlaceOptions(command)
    .option(
      "--param <name=value>",
      "a parameter of the experiment; JSON where it is, text otherwise (repeatable)",
      collect,
    )
    .option("--max-workers <n>", "tasks and evaluations at once, over all processes", wholeNumber, 4)
    .option("--processes <n>", "executor processes", wholeNumber, 1)
    .option("--evaluate-failed", "also evaluate tasks that failed")
    .option("--executor <command>", "what runs the file, when its name does not tell")
    .option("--eval-timeout <seconds>", "for one evaluation", seconds, 600)
    .option("--json", "one JSON object on stdout at the end; --json=events: a line per event")
    .addOption(new Option("--json-events").hideHelp())
    .option("-q, --quiet", "say only what went wrong");
}

function score(text: string): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (!Number.isFinite(value)) throw new InvalidArgumentError("a score is a number.");
  return value;
}
