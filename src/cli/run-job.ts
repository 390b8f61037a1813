import { plainJson } from "../base/plain-json.ts";
import { plainText } from "../base/terminal-text.ts";
import { raceWithSignal } from "../engine/race-with-signal.ts";
import type { Job } from "../jobs/config/job.ts";
import { budgetLines } from "../jobs/describe-run.ts";
import { describeChanges } from "../jobs/resume/job-changes.ts";
import type { EarlierWork } from "../jobs/resume/open-earlier-work.ts";
import { isFailed } from "../jobs/output/trial-result-schema.ts";
import { planSession, type PlannedSession, type SessionWishes } from "../jobs/resume/plan-session.ts";
import type { PreparedJob } from "../jobs/prepare-job.ts";
import type { TaskSelection } from "../jobs/tasks/select-tasks.ts";
import { countText } from "../report/number-text.ts";
import { runJson } from "../store/run-json.ts";
import type { CliContext } from "./cli-context.ts";
import { exitCodeOfJob, exitCodes } from "./exit-codes.ts";
import type { Interrupts } from "./interrupts.ts";
import { printEnvironments } from "./print-environments.ts";
import { printError } from "./print-error.ts";
import { prepareReported } from "./run-reported.ts";
import { openRegistry } from "./open-registry.ts";
import type { OriginOptions } from "./run-origin.ts";
import type { JsonMode, RunReporter } from "./run-reporter.ts";

/** A job that a person wants to run, for the first time or again. */
export interface JobWish {
  readonly job: Job;
  readonly selection: TaskSelection;
  /** What earlier sessions left; null for a new job. */
  readonly earlier: EarlierWork | null;
  readonly wishes: Omit<SessionWishes, "signal">;
  readonly json: JsonMode;
  readonly quiet: boolean;
  readonly origin: OriginOptions;
  /** The store that a person named. */
  readonly store: string | undefined;
}

/** Prepares a job, runs what is to be run of it, tells how it ended and returns its exit code. */
export async function runJob(
  wish: JobWish,
  reporter: RunReporter,
  interrupts: Interrupts,
  context: CliContext,
): Promise<number> {
  const { signal } = interrupts;
  const { host, terminal } = context;
  const { earlier, quiet, json } = wish;
  await using store = await openRegistry(wish.store, reporter, context);
  const registry = store?.runs;
  await using ready = await prepareReported({ ...wish, reporter, interrupts, registry }, context);
  const { prepared } = ready;
  const session = earlier && (await planSession(prepared, earlier, { ...wish.wishes, signal }));
  if (session && !quiet) {
    for (const line of describeChanges(session.changes)) terminal.err(`${plainText(line)}\n`);
    terminal.err(`${describeSessionPlan(prepared, session)}\n`);
  }
  await probe(prepared, session?.trials.length === 0, signal);
  if (!quiet && session?.trials.length !== 0)
    for (const line of budgetLines(prepared, session)) terminal.err(`${line}\n`);

  const run = await ready.run(session);
  const exitCode =
    run.unwritten === null
      ? exitCodeOfJob(run.result, interrupts.received)
      : printError(run.unwritten, terminal, host.cwd);
  if (json === "final")
    terminal.out(
      `${plainJson({ schema_version: 1, job_dir: run.dir, exit_code: exitCode, run: runJson(run.run), result: run.result })}\n`,
    );
  printEnvironments(run, prepared.provider, quiet, terminal);
  if (run.result.untrusted_trials > 0 && quiet)
    terminal.err(
      `rollout: ${countText(run.result.untrusted_trials, "trial")} should not be relied on; see ${run.dir}\n`,
    );
  if (exitCode === exitCodes.budget && quiet)
    for (const line of [...run.notes, `go on with: ${run.resume}`]) terminal.err(`rollout: ${plainText(line)}\n`);
  if (exitCode === exitCodes.incomplete && quiet)
    terminal.err(
      `rollout: ${run.result.failed_trials} of ${run.result.total_trials} trials have no reward; see ${run.dir}\n`,
    );
  return exitCode;
}

function describeSessionPlan({ trials }: PreparedJob, session: PlannedSession): string {
  const left = session.trials.length;
  if (left > 0) return `resuming: ${trials.length - left} of ${countText(trials.length, "trial")} done, ${left} to run`;
  const failed = [...session.settled.values()].filter(({ result }) => result && isFailed(result)).length;
  const again = failed > 0 ? `; --retry-failed repeats the ${failed} that failed` : "";
  return `nothing to run: ${trials.length} of ${countText(trials.length, "trial")} finished${again}`;
}

// Where nothing is left to run, an engine that does not answer keeps nobody from the results.
async function probe(prepared: PreparedJob, isDone: boolean, signal: AbortSignal): Promise<void> {
  const asked = raceWithSignal(prepared.probe(), signal, () => {});
  await (isDone ? asked.catch(() => signal.throwIfAborted()) : asked);
}
