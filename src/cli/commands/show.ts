import { createReadStream, existsSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { createInterface } from "node:readline";
import { plainJson } from "../../base/plain-json.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord } from "../../base/shown-path.ts";
import { plainText } from "../../base/terminal-text.ts";
import { describeUnknown } from "../../base/suggest.ts";
import { listArtifacts } from "../../jobs/output/trial-artifacts.ts";
import { readJob, readTrial } from "../../jobs/output/read-job.ts";
import type { TrialResultFile } from "../../jobs/output/trial-result-schema.ts";
import { countText, groupDigits } from "../../report/number-text.ts";
import { RunTally } from "../../report/run-tally.ts";
import { matrixLegend, renderMatrix, type MatrixOrder } from "../../report/unit-matrix.ts";
import { renderUnits } from "../../report/unit-table.ts";
import { runJson, unitJson } from "../../store/run-json.ts";
import type { Run, Unit } from "../../store/run.ts";
import type { RunSource } from "../../store/run-source.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { printSummary } from "../run-reporter.ts";
import { describeTrial } from "../runs/describe-trial.ts";
import { describeUnit } from "../runs/describe-unit.ts";
import { locateRun, type LocatedRun, type LocateOptions } from "../runs/locate-run.ts";
import { describeState } from "../runs/describe-state.ts";
import { nextCommands, WorstUnit } from "../runs/next-commands.ts";
import { readRows, readUnits } from "../runs/read-units.ts";
import { unitQueryOf, type QueryOptions } from "../runs/unit-query.ts";
import { isDirectoryGone, shownLocation } from "./list.ts";

export interface ShowOptions extends LocateOptions, QueryOptions {
  readonly json?: boolean;
  readonly item?: string;
  readonly trial?: string;
  readonly tasks?: boolean;
  readonly full?: boolean;
  readonly file?: string;
}

/** `rollout show`: a run's summary, its units as a table or a matrix, or everything about one unit. */
export async function showCommand(
  word: string | undefined,
  options: ShowOptions,
  context: CliContext,
): Promise<number> {
  const { host } = context;
  if (word !== undefined) {
    const dir = resolve(host.cwd, options.outputDir ?? "", word);
    const trial = existsSync(dir) ? await readTrial(dir) : null;
    if (trial && options.json === true) return await printTrialJson(dir, options, context);
    if (trial) return await showTrial(dir, trial, options, context);
  }
  const key = options.trial ?? options.item;
  if (key === undefined && (options.full === true || options.file !== undefined))
    throw new RolloutError("usage_invalid", `--${options.full === true ? "full" : "file"} is for one trial`, {
      hint: "add --trial TRIAL, or name the directory of a trial",
    });
  await using located = await locateRun(word, options, context);
  if (key !== undefined) return await showUnits(located, key, options, context);
  if (options.json === true) return await printJson(located, options, context);
  if (options.tasks === true) return await printMatrix(located, options, context);
  if (options.failed === true || options.filter !== undefined || options.sort !== undefined)
    return await printTable(located, options, context);
  return await printRun(located, options, context);
}

async function showTrial(
  dir: string,
  trial: TrialResultFile,
  options: ShowOptions,
  { terminal, host }: CliContext,
): Promise<number> {
  if (options.file !== undefined) return await printFile(dir, options.file, terminal.out);
  terminal.out(await describeTrial(dir, trial, { isFull: options.full === true, cwd: host.cwd }));
  return exitCodes.done;
}

// A trial is three directories deep in its job.
async function printTrialJson(dir: string, options: ShowOptions, context: CliContext): Promise<number> {
  const jobDir = resolve(dir, "..", "..", "..");
  await using located = await locateRun(jobDir, options, context);
  return await showUnits(located, relative(jobDir, dir), options, context);
}

/** Prints a file of a trial line by line, without what drives a terminal. */
async function printFile(dir: string, name: string, print: (text: string) => void): Promise<number> {
  const files = (await listArtifacts(dir)).map((file) => file.name);
  if (!files.includes(name))
    throw new RolloutError("not_found", `the trial has no file ${name}`, {
      hint: describeUnknown("file", name, files),
    });
  for await (const line of createInterface({ input: createReadStream(join(dir, name)) })) print(`${plainText(line)}\n`);
  return exitCodes.done;
}

async function showUnits(
  { run, source }: LocatedRun,
  key: string,
  options: ShowOptions,
  context: CliContext,
): Promise<number> {
  const { host, terminal } = context;
  const units = await findUnits(source, run, key);
  if (run.kind === "job" && units.length === 1 && options.json !== true) {
    const dir = join(resolve(host.cwd, run.location), units[0]?.key ?? "");
    const trial = await readTrial(dir);
    if (trial) return await showTrial(dir, trial, options, context);
  }
  if (options.file !== undefined) {
    const isOne = units.length === 1;
    throw new RolloutError("not_found", isOne ? `the files of "${key}" are not there` : `"${key}" is several trials`, {
      hint: isOne ? "leave out --file to see what is recorded" : `name one of them: ${units[0]?.key}`,
    });
  }
  if (options.json === true)
    terminal.out(`${plainJson({ schema_version: 1, run: runJson(run), units: units.map(unitJson) }, 2)}\n`);
  else terminal.out(units.map((unit) => describeUnit(unit, run.kind)).join("\n"));
  return exitCodes.done;
}

/** Finds units by key, or by the name of their item: all its attempts. */
async function findUnits(source: RunSource, run: Run, key: string): Promise<Unit[]> {
  const unit = await source.unit(run.id, key);
  if (unit !== null) return [unit];
  const rows = await readRows(source, run.id);
  const { itemLabel } = run.shape;
  const named = rows.filter(({ labels, key: own }) => labels[itemLabel] === key || own.endsWith(`/${key}`));
  const found = await Promise.all(named.map((row) => source.unit(run.id, row.key)));
  if (found.length > 0) return found.flatMap((one) => one ?? []);
  const known = [...new Set(rows.map(({ labels }) => labels[itemLabel] ?? ""))].slice(0, 1000);
  const { finished } = run.counts;
  throw new RolloutError("not_found", `run "${run.name}" has no result for "${key}"`, {
    hint:
      rows.length < run.plan.total
        ? `only ${groupDigits(Math.max(finished, rows.length))} of ${countText(run.plan.total, run.shape.unitNoun)} have finished; with results: ${known.slice(0, 10).join(", ") || "none"}`
        : describeUnknown(itemLabel, key, known),
  });
}

async function printJson({ run, source }: LocatedRun, options: ShowOptions, { terminal }: CliContext): Promise<number> {
  terminal.out(`{"schema_version":1,"run":${plainJson(runJson(run))},"units":[`);
  let separator = "\n";
  for await (const unit of readUnits(source, run.id, unitQueryOf(options, run))) {
    terminal.out(`${separator}${plainJson(unitJson(unit))}`);
    separator = ",\n";
  }
  terminal.out("\n]}\n");
  return exitCodes.done;
}

async function printTable(
  { run, source, word }: LocatedRun,
  options: ShowOptions,
  context: CliContext,
): Promise<number> {
  const { terminal, host } = context;
  const rows = await readRows(source, run.id, unitQueryOf(options, run));
  const lines = rows.length === 0 ? [] : renderUnits(rows, run.shape, terminal.columns());
  for (const line of lines) terminal.out(`${line}\n`);
  const { counts, plan, shape } = run;
  const planned = counts.finished < plan.total ? ` that finished; ${groupDigits(plan.total)} are planned` : "";
  terminal.out(`${groupDigits(rows.length)} of ${countText(counts.finished, shape.unitNoun)}${planned}\n`);
  const [first] = rows;
  if (first !== undefined) {
    const option = run.kind === "job" ? "--trial" : "--item";
    const named = placeWords(word, options, host.cwd);
    terminal.out(`next: rollout show ${named} ${option} ${shellWord(first.key)}\n`);
  }
  return exitCodes.done;
}

/** Returns the name of a run and the options that the next command needs to find it. */
function placeWords(word: string, { store, outputDir }: LocateOptions, cwd: string): string {
  // A directory is named from here.
  if (existsSync(resolve(cwd, word))) return shellWord(word);
  const places = [["--store", store] as const, ["--output-dir", outputDir] as const];
  const words = places.flatMap(([name, place]) => (place === undefined ? [] : [` ${name} ${shellWord(place)}`]));
  return `${shellWord(word)}${words.join("")}`;
}

const matrixOrders: readonly MatrixOrder[] = ["name", "disagree", "failed"];

async function printMatrix({ run, source }: LocatedRun, options: ShowOptions, context: CliContext): Promise<number> {
  const { terminal } = context;
  const sort = matrixOrders.find((order) => order === (options.sort ?? "name"));
  if (sort === undefined)
    throw new RolloutError("usage_invalid", `--sort ${options.sort} does not go with --tasks`, {
      hint: `one of ${matrixOrders.join(", ")}`,
    });
  const { sort: _sort, ...query } = options;
  const rows = await readRows(source, run.id, unitQueryOf(query, run));
  const isSelection = options.filter !== undefined || options.failed === true;
  const planned = isSelection ? [] : await readPlannedLabels(run, context);
  const lines = renderMatrix(rows, run.shape, { columns: terminal.columns(), sort, planned });
  for (const line of lines) terminal.out(`${line}\n`);
  terminal.out(`${matrixLegend}\n`);
  return exitCodes.done;
}

/** Returns the labels of all planned trials of a job. Only its directory has them. */
async function readPlannedLabels(run: Run, { host }: CliContext): Promise<Record<string, string>[]> {
  if (run.kind !== "job" || isDirectoryGone(run, host.cwd)) return [];
  const { plan } = await readJob(resolve(host.cwd, run.location));
  return plan.map(({ agentName, datasetName, taskName }) => ({
    agent: agentName,
    dataset: datasetName,
    task: taskName,
  }));
}

async function printRun(located: LocatedRun, options: ShowOptions, context: CliContext): Promise<number> {
  const { terminal, host } = context;
  const { run, source, word } = located;
  const tally = new RunTally(run.shape);
  const worst = new WorstUnit(run);
  for await (const unit of readUnits(source, run.id)) {
    tally.add(unit);
    worst.add(unit);
  }
  for (const warning of run.warnings) tally.addWarning(warning);
  const state = await describeState(run, context);
  if (state !== null) terminal.out(`${plainText(state)}\n\n`);
  const words = options.store === undefined ? "" : ` --store ${shellWord(options.store)}`;
  const { commands, notes } = await nextCommands(run, worst.unit, { word, words }, context);
  const directory = shownLocation(run, host.cwd);
  const isGone = isDirectoryGone(run, host.cwd);
  const gone = isGone ? [`${directory} is gone: this is what the store has of it`] : [];
  const location = isGone ? (located.store?.location ?? directory) : directory;
  const shown = { ...run, location, notes: [...run.notes, ...notes, ...gone] };
  printSummary(terminal, shown, tally, commands);
  return exitCodes.done;
}
