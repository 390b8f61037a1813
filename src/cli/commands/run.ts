import { randomUUID } from "node:crypto";
import { silentLog } from "../../base/log.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { loadProviderModule } from "../../environments/registry.ts";
import { runPreparedJob, type JobRun } from "../../jobs/run-job.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodeOfJob, exitCodes } from "../exit-codes.ts";
import { listenToInterrupts } from "../interrupts.ts";
import type { JobOptions } from "../job-options.ts";
import { prepareInterruptibly } from "../prepare-interruptibly.ts";
import { printError, printProblems } from "../print-error.ts";
import { readJobArguments, selectionOf } from "../read-job-arguments.ts";
import { openRunReporter, type JsonMode } from "../run-reporter.ts";

export interface RunOptions extends JobOptions {
  readonly json?: boolean;
  readonly jsonEvents?: boolean;
  readonly quiet?: boolean;
}

/** `rollout run`: runs a job and returns its exit code. */
export async function runCommand(paths: readonly string[], options: RunOptions, context: CliContext): Promise<number> {
  const { host, clock, terminal } = context;
  const quiet = options.quiet === true;
  const json: JsonMode = options.jsonEvents ? "events" : options.json ? "final" : null;
  const job = await readJobArguments(paths, options, host);
  const runId = randomUUID();

  using reporter = openRunReporter({ terminal, clock, json, quiet });
  using interrupts = listenToInterrupts(
    context.process,
    (name) => reporter.say(`${name}: stopping the running trials and cleaning up; once more to stop waiting`),
    () => reporter.say("not waiting any longer"),
  );
  const { signal, forceSignal } = interrupts;
  await using prepared = await prepareInterruptibly(job, {
    host,
    clock,
    signal,
    log: silentLog,
    runId,
    selection: selectionOf(options),
    loadProvider: loadProviderModule,
    onProgress: (line) => quiet || terminal.err(`${line}\n`),
  });
  if (!quiet) printProblems(prepared.taskProblems, terminal, host.cwd);
  await raceWithSignal(prepared.probe(), signal, () => {});

  const run = await runPreparedJob(prepared, {
    runId,
    host,
    clock,
    signal,
    forceSignal,
    onEvent: reporter.onEvent,
    onLog: (entry) => reporter.say(`${entry.level}: ${entry.message}`),
  });
  const exitCode =
    run.unwritten === null
      ? exitCodeOfJob(run.result, interrupts.received)
      : printError(run.unwritten, terminal, host.cwd);
  if (json === "final")
    terminal.out(
      `${JSON.stringify({ schema_version: 1, job_dir: run.dir, exit_code: exitCode, result: run.result })}\n`,
    );
  if (!quiet) for (const line of keptLines(run.kept)) terminal.err(`${line}\n`);
  for (const id of run.leftBehind) {
    const command = prepared.provider.removeCommand(id);
    terminal.err(
      `rollout: environment ${id} was left behind${command === null ? "" : `; remove it with: ${command}`}\n`,
    );
  }
  if (exitCode === exitCodes.incomplete && quiet)
    terminal.err(
      `rollout: ${run.result.failed_trials} of ${run.result.total_trials} trials have no reward; see ${run.dir}\n`,
    );
  return exitCode;
}

const mostKept = 5;

function keptLines(kept: JobRun["kept"]): string[] {
  const shown = kept
    .slice(0, mostKept)
    .map(({ id, enter }) => `kept environment ${id}${enter === null ? "" : `; enter it with: ${enter}`}`);
  return kept.length > mostKept
    ? [...shown, `and ${kept.length - mostKept} more: each trial's result.json names its own`]
    : shown;
}
