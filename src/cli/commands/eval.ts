import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord, shownPath } from "../../base/shown-path.ts";
import { describeUnknown } from "../../base/suggest.ts";
import { followSignals } from "../../engine/follow-signals.ts";
import type { RunSummary } from "../../datasets/summary.ts";
import type { Store } from "../../store/store.ts";
import type { CliContext } from "../cli-context.ts";
import { applyOptions, type EvalOptions } from "../eval/apply-options.ts";
import { capturePrints } from "../eval/capture-prints.ts";
import { FileChanges } from "../eval/file-changes.ts";
import { guardProcess } from "../eval/guard-process.ts";
import { loadEvals, type NamedEval } from "../eval/load-evals.ts";
import { openModuleLoader, type ModuleLoader } from "../../base/module-loader.ts";
import { runJson } from "../../store/run-json.ts";
import { plainJson } from "../../base/plain-json.ts";
import { readOrigin, type OriginOptions } from "../run-origin.ts";
import { runEvals, type EvalRun } from "../eval/run-evals.ts";
import { countText } from "../../report/number-text.ts";
import { exitCodeOfSignal, exitCodes } from "../exit-codes.ts";
import type { Interrupts } from "../interrupts.ts";
import { openNamedStore } from "../open-store.ts";
import { printError } from "../print-error.ts";
import { jsonModeOf, listenAndReport, type ReportOptions } from "../report-options.ts";
import type { RunReporter } from "../run-reporter.ts";
import { storeWords } from "../with-store.ts";

const settleMs = 50;

export interface EvalCommandOptions extends EvalOptions, ReportOptions, OriginOptions {
  readonly only?: readonly string[];
  readonly resume?: string | true;
  readonly watch?: boolean;
  /** Commander's `--no-store` makes it false. */
  readonly store?: string | false;
}

/** `rollout eval`: runs what a file exports, and returns the exit code. */
export async function evalCommand(path: string, options: EvalCommandOptions, context: CliContext): Promise<number> {
  const { host } = context;
  const file = resolve(host.cwd, path);
  if (options.store === false && options.dataset !== undefined)
    throw new RolloutError("usage_invalid", `--dataset ${options.dataset} is in a store: leave out --no-store`);
  using loader = openModuleLoader(context.packageDir);
  await using store =
    options.store === false ? null : await openNamedStore(options.store || undefined, "write", context);
  const session: Session = { file, options, loader, store, context };
  if (options.watch === true) return await watchAndRun(session);
  using told = listenAndReport(options, context, "items");
  return await runOnce(session, told, told.interrupts.signal);
}

/** What to type to go on with what was typed. */
function resumeCommandOf({ file, options, store, context }: Session): string | null {
  if (store === null) return null;
  const { dataset, limit, sample, seed, repeats, scorer, only } = options;
  const given = Object.entries({ dataset, limit, sample, seed, repeats, scorer, only });
  const words = given.flatMap(([name, value]) =>
    value === undefined ? [] : [`--${name}`, ...[value].flat().map((word) => shellWord(String(word)))],
  );
  const stored = storeWords(options.store ? { store: options.store } : {}, store.location);
  return `${["rollout eval", shellWord(shownPath(file, context.host.cwd)), ...words, "--resume"].join(" ")}${stored}`;
}

interface Session {
  readonly file: string;
  readonly options: EvalCommandOptions;
  readonly loader: ModuleLoader;
  readonly store: Store | null;
  readonly context: CliContext;
}

interface Told {
  readonly reporter: RunReporter;
  readonly interrupts: Interrupts;
}

async function runOnce(session: Session, told: Told, signal: AbortSignal): Promise<number> {
  using _prints = capturePrints(session.context.process.stdout, told.reporter.print);
  return await runLoaded(await load(session), session, told, signal);
}

function load({ file, loader, options }: Session): Promise<NamedEval[]> {
  return loadEvals(file, loader, options.dataset !== undefined);
}

async function runLoaded(
  loaded: readonly NamedEval[],
  session: Session,
  { reporter, interrupts }: Told,
  signal: AbortSignal,
): Promise<number> {
  const { options, store, context } = session;
  const evals = pick(loaded, options.only).map(({ name, config }) => ({ name, config: applyOptions(config, options) }));
  const resumeCommand = resumeCommandOf(session);
  using guard = guardProcess({ process: context.process, reporter, resumeCommand });
  const runs = await runEvals(
    {
      evals,
      resumeCommand,
      file: shownPath(session.file, context.host.cwd),
      say: reporter.say,
      store,
      resume: options.resume ?? false,
      storeWords: store === null ? "" : storeWords(options.store ? { store: options.store } : {}, store.location),
      onEvent: reporter.onEvent,
      origin: await readOrigin(options, context),
      signal,
    },
    context,
  );
  const isGone = store !== null && isStoreGone(store.location, context.host.cwd);
  if (isGone)
    reporter.say(`the store ${store.location} was taken away while the run wrote to it; its results are lost`);
  const exitCode = isGone ? exitCodes.bug : exitCodeOfRuns(runs, interrupts, guard.strayErrors);
  if (jsonModeOf(options) === "final") context.terminal.out(`${describeRuns(runs, exitCode)}\n`);
  for (const { name, summary } of runs)
    if (summary.error !== null && !signal.aborted) reporter.say(`${name}: ${summary.error}`);
  return exitCode;
}

/** Runs again whenever a file changes that the last run was made of, until a signal comes. */
async function watchAndRun(session: Session): Promise<number> {
  const { options, context } = session;
  for (;;) {
    using told = listenAndReport(options, context, "items");
    const change = await runUntilChange(session, told);
    if (change === null) return exitCodeOfSignal(told.interrupts.received ?? "SIGINT");
    told.reporter.say(`${shownPath(change, context.host.cwd)} changed; running again`);
    // Whoever writes it may not have done with it.
    await context.clock.sleep(settleMs, told.interrupts.signal).catch(() => {});
  }
}

/** The file that changed, during the run or after it; null when a signal came first. */
async function runUntilChange(session: Session, told: Told): Promise<string | null> {
  const { file, loader, context } = session;
  const { signal: interrupt } = told.interrupts;
  const changed = new AbortController();
  using stop = followSignals([interrupt, changed.signal]);
  const complain = (error: unknown): number => printError(error, context.terminal, context.host.cwd);
  using _prints = capturePrints(context.process.stdout, told.reporter.print);
  using changes = new FileChanges();
  // What changes while it is loaded counts, too.
  changes.add([file, ...loader.files]);
  const loaded = await load(session).catch(complain);
  changes.add(loader.files);
  const change = changes.first(interrupt).then(
    (name) => {
      changed.abort(new Error("a file changed"));
      return name;
    },
    () => null,
  );
  if (typeof loaded !== "number") await runLoaded(loaded, session, told, stop.signal).catch(complain);
  if (!stop.signal.aborted)
    told.reporter.say(`watching ${countText(loader.files.size, "file")} for changes; Ctrl-C to end`);
  return await change;
}

function isStoreGone(location: string, cwd: string): boolean {
  return !/^(?:postgres(?:ql)?|memory):/.test(location) && !existsSync(resolve(cwd, location));
}

function pick(evals: readonly NamedEval[], only: readonly string[] | undefined): readonly NamedEval[] {
  if (only === undefined) return evals;
  const names = evals.map(({ name }) => name);
  for (const name of only)
    if (!names.includes(name))
      throw new RolloutError("usage_invalid", `--only ${name}: ${describeUnknown("run", name, names)}`);
  return evals.filter(({ name }) => only.includes(name));
}

/** 0 only when every item has its output and every scorer had its say. */
function exitCodeOfRuns(runs: readonly EvalRun[], { received }: Interrupts, strayErrors: number): number {
  if (received !== null) return exitCodeOfSignal(received);
  return strayErrors === 0 && runs.every(({ summary }) => isWhole(summary)) ? exitCodes.done : exitCodes.incomplete;
}

function isWhole({ status, failedCount, error, persistenceFailures, scorers, datasetScores }: RunSummary): boolean {
  const isScored = scorers.every(({ errors }) => errors === 0) && datasetScores.every((score) => score.error === null);
  return status === "completed" && failedCount === 0 && error === null && persistenceFailures === 0 && isScored;
}

function describeRuns(runs: readonly EvalRun[], exitCode: number): string {
  return plainJson({ schema_version: 1, exit_code: exitCode, runs: runs.map(({ run }) => runJson(run)) });
}
