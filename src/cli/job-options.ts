import { InvalidArgumentError, Option, type Command } from "commander";

/** What a person may change about a job on the command line. */
export interface JobOptions {
  readonly agent?: readonly string[];
  readonly task?: readonly string[];
  readonly exclude?: readonly string[];
  readonly taskTag?: readonly string[];
  readonly category?: readonly string[];
  readonly limit?: number;
  readonly sample?: number;
  readonly seed: string;
  readonly attempts?: number;
  readonly concurrency?: number;
  readonly name?: string;
  readonly environment?: string;
  readonly set?: readonly string[];
}

/** Adds those options to a command. */
export function addJobOptions(command: Command): Command {
  const agent = "only this agent of the job, or oracle / nop (repeatable)";
  return addCheckOptions(command.option("--agent <name>", agent, collect)).option(
    "--attempts <n>",
    "attempts per agent and task",
    wholeNumber,
  );
}

/** Adds those of them that choose neither agents nor attempts. */
export function addCheckOptions(command: Command): Command {
  return command
    .option("--task <glob>", "only tasks whose name, or dataset/name, matches (repeatable)", collect)
    .option("--exclude <glob>", "leave these tasks out (repeatable)", collect)
    .option("--task-tag <tag>", "only tasks with this tag in their metadata (repeatable)", collect)
    .option("--category <name>", "only tasks of this category in their metadata (repeatable)", collect)
    .option("--limit <n>", "the first n tasks", wholeNumber)
    .option("--sample <n>", "n tasks at random, the same for the same --seed", wholeNumber)
    .option("--seed <seed>", "what --sample draws with", "0")
    .option("--concurrency <n>", "trials at once", wholeNumber)
    .option("--name <name>", "name of the job directory")
    .option("--environment <type>", "environment provider instead of the job's")
    .addOption(setOption());
}

/** The option that puts any key over the job's. */
export function setOption(): Option {
  const meaning = "any key of the job file, as in --set environment.override_cpus=2 (repeatable)";
  return new Option("--set <key=value>", meaning).argParser(collect);
}

/** Gathers the values of an option that may be given several times. */
export function collect(value: string, before: readonly string[] = []): string[] {
  return [...before, value];
}

/** Reads a number of seconds. */
export function seconds(text: string): number {
  const value = Number(text);
  if (!Number.isFinite(value) || value <= 0 || text.trim() === "")
    throw new InvalidArgumentError("It takes a number of seconds above 0.");
  return value;
}

/** Reads a whole number of at least 1. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1) throw new InvalidArgumentError("It takes a whole number of at least 1.");
  return value;
}
