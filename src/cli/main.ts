import { existsSync } from "node:fs";
import { Command, CommanderError, Option } from "commander";
import { systemClock } from "../base/clock.ts";
import { readHost } from "../base/host.ts";
import type { CliContext } from "./cli-context.ts";
import { addDatasetCommands } from "./dataset-commands.ts";
import { exitCodes } from "./exit-codes.ts";
import { addExperimentCommands } from "./experiment-commands.ts";
import { ignoresHangup } from "./interrupts.ts";
import { addCheckOptions, addJobOptions, collect, setOption, wholeNumber } from "./job-options.ts";
import { printError } from "./print-error.ts";
import { addResumeOptions, bindRetryTypes } from "./resume-options.ts";
import { addOriginOptions } from "./run-origin.ts";
import { openTerminal } from "./terminal.ts";

/** Runs the command line of a process and returns its exit code; never throws. */
export async function main(process: NodeJS.Process, version: string, packageDir: string): Promise<number> {
  const terminal = openTerminal(process);
  // SIGHUP ends Node by default, but the caller asked for it to be ignored.
  if (ignoresHangup(process)) process.on("SIGHUP", () => {});
  try {
    const context: CliContext = { process, host: readHost(process), clock: systemClock, terminal, version, packageDir };
    let exitCode: number = exitCodes.done;
    const program = buildProgram(context, (code) => (exitCode = code));
    const words = process.argv.slice(2);
    if (words.length === 0) program.help({ error: true });
    await program.parseAsync(withDefaultCommand(words, program), { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
    return printError(error, terminal, process.cwd());
  }
}

function buildProgram(context: CliContext, setExitCode: (code: number) => void): Command {
  const { terminal } = context;
  const program = new Command("rollout")
    .description(
      "Evaluate agents: agents x tasks x attempts, each trial in an environment of its own and marked by the task's own verifier; with eval, the items of a dataset against a function or an agent, marked by scorers; with experiment, tasks and evaluators in any language over examples.",
    )
    .version(context.version, "-V, --version", "print the version")
    .usage("<job.yaml> [options]\n       rollout <command> [options]")
    .exitOverride()
    // What stands behind a command is that command's own.
    .enablePositionalOptions()
    .configureOutput({
      writeOut: terminal.out,
      writeErr: terminal.err,
      getOutHelpWidth: terminal.columns,
      getErrHelpWidth: terminal.columns,
    })
    .showSuggestionAfterError()
    .showHelpAfterError("(--help tells more)")
    .addHelpText(
      "after",
      examples([
        "rollout job.yaml                              run a job",
        "rollout run --agent oracle ./tasks/a          run one task with its own solution",
        "rollout check ./tasks                         see whether tasks can be trusted",
        "rollout plan job.yaml                         see what would run",
        "rollout resume jobs/my-job                    run what is left of a job",
        "rollout list                                  list all runs",
        "rollout show                                  read the results of the newest run",
        "rollout logs jobs/my-job my-task -f           follow the output of a trial",
        "rollout init task my-task                     write a task to begin from",
        "rollout eval my.eval.ts                       run a function over items and score its answers",
        "rollout experiment my.py --dataset d.jsonl    run a task and evaluators over examples",
      ]),
    );

  const command = (name: string, summary: string, lines: readonly string[], under = program): Command =>
    under
      .command(name)
      .description(summary)
      .configureHelp({ sortOptions: false })
      .addHelpText("after", examples(lines));

  addResumeOptions(
    addOriginOptions(
      addJobOptions(
        command("run", "run a job file, or task directories with a built-in agent", [
          "rollout run job.yaml --attempts 3 --concurrency 8",
          "rollout run job.yaml --agent my-agent --task 'db-*' --exclude db-slow",
          "rollout run job.yaml --sample 20 --seed 7 --json > result.json",
          "rollout run --agent oracle ./tasks/a ./tasks/b",
          "rollout run job.yaml --set environment.preserve_env=on_failure",
          "rollout run job.yaml --resume",
        ]),
      ),
    ).option("--resume", "run what is left of the job, if its directory is there already"),
  )
    .argument("<paths...>", "a job file, or task directories")
    .option("--store <location>", "also record the job in this store (default: .rollout/rollout.db if it exists)")
    .option("--json", "one JSON object on stdout at the end; --json=events: a line per event")
    .addOption(new Option(jsonEvents).hideHelp())
    .option("-q, --quiet", "say only what went wrong")
    .action(async (paths: string[], options) =>
      setExitCode(await (await import("./commands/run.ts")).runCommand(paths, options, context)),
    );

  addOriginOptions(
    addResumeOptions(
      command("resume", "run what is left of a job that was interrupted, or that has grown", [
        "rollout resume jobs/my-job",
        "rollout resume jobs/my-job --retry-failed",
        "rollout resume jobs/my-job --retry-failed environment_start_failed,verifier_timeout",
        "rollout resume jobs/my-job --attempts 5 --concurrency 8",
        "rollout resume jobs/my-job --set budget.cost_usd=20",
      ]),
    ),
  )
    .argument("<job>", "its directory, its id or the first four characters of it, or its name")
    .option("--store <location>", "also record the job in this store (default: .rollout/rollout.db if it exists)")
    .option("--attempts <n>", "attempts per agent and task, when there are to be more", wholeNumber)
    .option("--concurrency <n>", "trials at once", wholeNumber)
    .addOption(setOption())
    .option("--json", "one JSON object on stdout at the end; --json=events: a line per event")
    .addOption(new Option(jsonEvents).hideHelp())
    .option("-q, --quiet", "say only what went wrong")
    .action(async (directory: string, options) =>
      setExitCode(await (await import("./commands/resume.ts")).resumeCommand(directory, options, context)),
    );

  addJobOptions(
    command("plan", "show what a job would run: trials, images, environments; start nothing", [
      "rollout plan job.yaml",
      "rollout plan job.yaml --task 'db-*' --json",
    ]),
  )
    .argument("<paths...>", "a job file, or task directories")
    .option("--json", "as one JSON object")
    .action(async (paths: string[], options) =>
      setExitCode(await (await import("./commands/plan.ts")).planCommand(paths, options, context)),
    );

  command("validate", "list every problem of a job, a task, a dataset or a registry; start nothing", [
    "rollout validate job.yaml",
    "rollout validate ./tasks/my-task",
    "rollout validate ./tasks",
  ])
    .argument("<paths...>", "job files, task directories, dataset directories or registry files")
    .addOption(setOption())
    .option("--json", "as one JSON object")
    .action(async (paths: string[], options) =>
      setExitCode(await (await import("./commands/validate.ts")).validateCommand(paths, options, context)),
    );

  addCheckOptions(
    command("check", "run oracle and nop on tasks and name those whose results would mean nothing", [
      "rollout check ./tasks/my-task",
      "rollout check ./tasks --times 5 --environment local",
      "rollout check job.yaml --task 'db-*' --json",
    ]),
  )
    .argument("<paths...>", "task directories, dataset directories, or one job file")
    .option("-k, --times <n>", "attempts of each of the two agents at each task", wholeNumber, 3)
    .option("--no-network-check", "do not look whether the tests need the network")
    .option("--json", "as one JSON object")
    .option("-q, --quiet", "no progress; only the verdicts")
    .action(async (paths: string[], options) =>
      setExitCode(await (await import("./commands/check.ts")).checkCommand(paths, options, context)),
    );

  addOriginOptions(
    command("eval", "run what a TypeScript or JavaScript file exports: items, a target, scorers", [
      "rollout eval my.eval.ts",
      "rollout eval my.eval.ts --limit 20 --concurrency 10",
      "rollout eval my.eval.ts --dataset questions@3 --scorer exact",
      "rollout eval my.eval.ts --resume",
      "rollout eval my.eval.ts --watch",
    ]),
  )
    .argument("<file>", "a file that exports a run or several: { data, target, scorers }")
    .option("--only <name...>", "only the runs of these names")
    .option("--dataset <name>", "run on this dataset of the store; name@version for an old version")
    .option("--limit <n>", "only the first so many items", wholeNumber)
    .option("--sample <n>", "only so many items, chosen by chance", wholeNumber)
    .option("--seed <n>", "another chance for --sample", wholeNumber)
    .option("--scorer <id...>", "only these of the file's scorers")
    .option("--concurrency <n>", "items at once", wholeNumber)
    .option("--repeats <n>", "how often each item runs", wholeNumber)
    .option(
      "--resume [run]",
      "go on with an unfinished run: its id or its name; without either the last one of each name",
    )
    .option("--watch", "run again whenever the file, or one it imports, changes")
    .option("--store <location>", "a file or postgres://… for datasets and results (default: .rollout/rollout.db)")
    .option("--no-store", "keep nothing")
    .option("--json", "one JSON object on stdout at the end; --json=events: a line per event")
    .addOption(new Option(jsonEvents).hideHelp())
    .option("-q, --quiet", "say only what went wrong")
    .action(async (file: string, options) =>
      setExitCode(await (await import("./commands/eval.ts")).evalCommand(file, options, context)),
    );

  addExperimentCommands(command, context, setExitCode);

  command("list", "list runs: jobs, dataset runs and experiments, newest first", [
    "rollout list",
    "rollout list --kind job --status interrupted",
    "rollout list --tag branch=main --limit 50",
    "rollout list /data/jobs",
    "rollout list --json",
  ])
    .argument("[paths...]", "directories of jobs and experiments (default: jobs, experiments and the store)")
    .option("--kind <kind>", "only jobs, dataset runs or experiments: job, dataset, experiment")
    .option("--status <status>", "only runs with this status: running, completed, interrupted, …")
    .option("--name <name>", "only runs with this name")
    .option("--tag <key=value>", "only runs with this tag (repeatable)", collect)
    .option("--filter <filter>", "only runs that match, as in 'agent:claude dataset:term* cost>5 -status:failed'")
    .option("--limit <n>", "how many runs to show (default: 20)", wholeNumber)
    .option("--store <location>", "the store to read (default: .rollout/rollout.db)")
    .option("--json", "as one JSON object")
    .action(async (paths: string[], options) =>
      setExitCode(await (await import("./commands/list.ts")).listCommand(paths, options, context)),
    );

  const run =
    "its directory, its id or the first four characters of it, NAME, or NAME~1 for the one before (default: the newest run)";
  addQueryOptions(
    command("show", "show the results of a run, or of one of its trials, items or examples", [
      "rollout show",
      "rollout show jobs/my-job",
      "rollout show nightly~1 --tasks --sort disagree",
      "rollout show nightly --filter 'agent:claude reward<1' --sort -cost",
      "rollout show nightly --trial my-task__2",
      "rollout show jobs/my-job/my-agent/my-dataset/my-task__1 --full",
      "rollout show 0b6d3c1e --item question-7",
    ]),
  )
    .argument("[run]", `${run}; or the directory of a trial`)
    .option("--tasks", "a matrix of tasks and agents with every attempt; --sort takes name, disagree or failed")
    .option("--trial <key>", "one trial: its key, TASK__ATTEMPT, or TASK for all its attempts")
    .option("--item <key>", "one item or example: its id, or ID#2 for its second repeat")
    .option("--full", "with a trial: print its output in full")
    .option("--file <name>", "with a trial: print one of its files")
    .option("--json", "as one JSON object")
    .action(async (word: string | undefined, options) =>
      setExitCode(await (await import("./commands/show.ts")).showCommand(word, options, context)),
    );

  addQueryOptions(
    command("export", "write the trials, items or examples of a run to a file, one row each", [
      "rollout export nightly --csv nightly.csv",
      "rollout export nightly --jsonl - --filter status:failed",
    ]),
  )
    .argument("[run]", run)
    .option("--csv <file>", "as CSV; - is standard output")
    .option("--jsonl <file>", "as JSON lines; - is standard output")
    .action(async (word: string | undefined, options) =>
      setExitCode(await (await import("./commands/export.ts")).exportCommand(word, options, context)),
    );

  command("remove", "remove runs: their directories and their entries in the store", [
    "rollout remove nightly~5",
    "rollout remove jobs/old-job 0b6d3c1e --yes",
  ])
    .argument("<runs...>", "directories, ids or names")
    .option("--yes", "do not ask for a confirmation")
    .option("--store <location>", "the store to read (default: .rollout/rollout.db)")
    .option("--output-dir <directory>", "a directory that holds the runs")
    .action(async (words: string[], options) =>
      setExitCode(await (await import("./commands/remove.ts")).removeCommand(words, options, context)),
    );

  command("logs", "print the output of a trial, also while it runs", [
    "rollout logs jobs/my-job my-agent/my-dataset/my-task__1",
    "rollout logs jobs/my-job my-task -f",
    "rollout logs jobs/my-job my-task__2 --stream command/stdout",
    "rollout logs jobs/my-job my-task --stream verifier",
  ])
    .argument("<job>", "its directory, its id or the first four characters of it, or its name")
    .argument("<trial>", "agent/dataset/task__attempt, or a part of it that only one trial has, such as the task")
    .option("-f, --follow", "print what is added until the trial has its result")
    .option("--stream <name>", "print only these: setup, command or verifier, followed by /stdout or /stderr for one")
    .action(async (run: string, trial: string, options) =>
      setExitCode(await (await import("./commands/logs.ts")).logsCommand(run, trial, options, context)),
    );

  command("status", "say where a job stands: what has finished, what runs in which phase", [
    "rollout status jobs/my-job",
    "rollout status jobs/my-job --json",
  ])
    .argument("<job>", "its directory, its id or the first four characters of it, or its name")
    .option("--json", "as one JSON object")
    .action(async (directory: string, options) =>
      setExitCode(await (await import("./commands/status.ts")).statusCommand(directory, options, context)),
    );

  command("pause", "let a running job take no new trials; those that run go on", ["rollout pause jobs/my-job"])
    .argument("<job>", "its directory, its id or the first four characters of it, or its name")
    .action(async (directory: string) =>
      setExitCode(await (await import("./commands/hold.ts")).holdCommand(directory, "pause", context)),
    );

  command("continue", "let a paused job take trials again", ["rollout continue jobs/my-job"])
    .argument("<job>", "its directory, its id or the first four characters of it, or its name")
    .action(async (directory: string) =>
      setExitCode(await (await import("./commands/hold.ts")).holdCommand(directory, "continue", context)),
    );

  command("verify", "recompute a job's results from its trials' files and name each difference", [
    "rollout verify jobs/my-job",
    "rollout verify jobs/my-job --json",
  ])
    .argument("<job>", "its directory, its id or the first four characters of it, or its name")
    .option("--json", "as one JSON object")
    .action(async (directory: string, options) =>
      setExitCode(await (await import("./commands/verify.ts")).verifyCommand(directory, options, context)),
    );

  const init = command("init", "write a task or a job to begin from", [
    "rollout init task tasks/my-task",
    "rollout init job",
    "rollout init job nightly.yaml",
  ]);
  init
    .command("task")
    .description("a task directory: instruction, environment, tests, solution")
    .argument("<directory>", "where to write it")
    .action(async (directory: string) =>
      setExitCode(await (await import("./commands/init.ts")).initTaskCommand(directory, context)),
    );
  init
    .command("job")
    .description("a job file")
    .argument("[file]", "where to write it", "job.yaml")
    .action(async (file: string) =>
      setExitCode(await (await import("./commands/init.ts")).initJobCommand(file, context)),
    );

  command("doctor", "say what this machine can run, what is missing and how to get it", [
    "rollout doctor",
    "rollout doctor --json",
  ])
    .option("--json", "as one JSON object")
    .action(async (options) =>
      setExitCode(await (await import("./commands/doctor.ts")).doctorCommand(options, context)),
    );

  command("enter", "open a shell in the environment that a trial kept", [
    "rollout enter jobs/my-job/my-agent/my-dataset/my-task__1",
    "echo 'cat /app/result.txt' | rollout enter jobs/my-job/my-agent/my-dataset/my-task__1",
  ])
    .argument("<trial-directory>", "a trial that ran with preserve_env")
    .option("--environment <id>", "which one, when the trial kept several")
    .action(async (directory: string, options) =>
      setExitCode(await (await import("./commands/enter.ts")).enterCommand(directory, options, context)),
    );

  command("clean", "remove the environments that killed runs left", [
    "rollout clean",
    "rollout clean --dry-run",
    "rollout clean jobs/my-job",
    "rollout clean --kept",
    "rollout clean --cached-installs",
    "rollout clean --provider k8s",
  ])
    .argument("[targets...]", "only these: job directories, whose kept environments go too, or ids of environments")
    .option("--provider <type>", "only this environment type")
    .option("--kept", "also what preserve_env kept")
    .option("--cached-installs", "also the installs of agents that were cached")
    .option("--dry-run", "only say what would be removed")
    .option("--json", "as one JSON object")
    .action(async (targets: string[], options) =>
      setExitCode(await (await import("./commands/clean.ts")).cleanCommand(targets, options, context)),
    );

  const cache = command("cache", "the tasks that were fetched from git", [
    "rollout cache list",
    "rollout cache clean --older-than 30",
  ]);
  cache
    .command("list")
    .description("what is cached, and how large it is")
    .option("--json", "as one JSON object")
    .action(async (options) =>
      setExitCode(await (await import("./commands/cache.ts")).listCacheCommand(options, context)),
    );
  cache
    .command("clean")
    .description("remove what is cached and not in use")
    .option("--older-than <days>", "only what was not used for so many days", Number)
    .action(async (options) =>
      setExitCode(await (await import("./commands/cache.ts")).cleanCacheCommand(options, context)),
    );

  const dataset = command("dataset", "datasets for dataset runs: import, look at, compare and export their versions", [
    "rollout dataset import questions.jsonl",
    "rollout dataset diff questions 1 2",
    "rollout dataset export questions questions.csv",
  ]);
  addDatasetCommands(dataset, examples, context, setExitCode);
  return program;
}

function addQueryOptions(command: Command): Command {
  return command
    .option("--failed", "only trials, items or examples that failed or did not pass")
    .option("--filter <filter>", "only those that match, as in 'agent:claude status:failed reward<1 -task:slow-*'")
    .option(
      "--sort <order>",
      "by index, key, status, score, started, duration, cost or failure; a leading - reverses the order",
    )
    .option("--store <location>", "the store to read (default: .rollout/rollout.db)")
    .option("--output-dir <directory>", "a directory that holds the run");
}

function examples(lines: readonly string[]): string {
  return `\nExamples:\n${lines.map((line) => `  ${line}`).join("\n")}`;
}

// An option with an optional value would swallow the job file in `--json job.yaml`.
const jsonEvents = "--json-events";

// `rollout job.yaml` is `rollout run job.yaml`; options may come first.
function withDefaultCommand(typed: readonly string[], program: Command): string[] {
  const words = bindRetryTypes(typed.map((word) => (word === "--json=events" ? jsonEvents : word)));
  const [first = ""] = words;
  const names = [...program.commands.map((command) => command.name()), "help", "-h", "--help", "-V", "--version"];
  if (names.includes(first) || (!first.startsWith("-") && !existsSync(first) && !/[./]/.test(first))) return words;
  return ["run", ...words];
}
