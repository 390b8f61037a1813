import { RolloutError } from "../base/rollout-error.ts";
import { judgeTasks, passesAlways } from "../jobs/check/judge-tasks.ts";
import type { TaskVerdict } from "../jobs/check/task-verdict.ts";
import type { Job } from "../jobs/config/job.ts";
import type { TaskSelection } from "../jobs/tasks/select-tasks.ts";
import type { CheckReport } from "./check-report.ts";
import type { CliContext } from "./cli-context.ts";
import { Interruption, type Interrupts } from "./interrupts.ts";
import { printError } from "./print-error.ts";
import { readCheckJob, readOfflineJob, type CheckArguments } from "./read-check-job.ts";
import { selectionOf } from "./read-job-arguments.ts";
import { runCheckJob, type CheckJobEnd } from "./run-check-job.ts";
import { openRunReporter, type RunReporter } from "./run-reporter.ts";

/** Through whom a signal is told: each job of a check has a reporter of its own. */
export interface CheckTalk {
  reporter: RunReporter | null;
}

export interface CheckControls {
  readonly talk: CheckTalk;
  readonly interrupts: Interrupts;
}

export interface CheckEnd {
  readonly report: CheckReport;
  readonly isStoppedByBudget: boolean;
}

/** Runs the one or two jobs of a check and judges their tasks; rejects when nothing could start or be written. */
export async function runCheck(check: CheckArguments, controls: CheckControls, context: CliContext): Promise<CheckEnd> {
  const { options } = check;
  const job = await readCheckJob(check, context.host);
  const quiet = options.quiet === true;
  const run = (wanted: Job, selection: TaskSelection): Promise<CheckJobEnd> =>
    runReported({ job: wanted, selection, quiet, interrupts: controls.interrupts }, controls.talk, context);

  const selection = selectionOf(options);
  const first = await run(job, selection);
  const evidence = { tasks: first.tasks, attempts: job.nAttempts, trials: first.trials };
  const early = judgeTasks({ ...evidence, offlineTrials: null });
  const passing = early.filter((verdict) => passesAlways(verdict, job.nAttempts));
  const reason = whyNotOffline(options.networkCheck, job, first, passing.length);
  const runOffline = async (): Promise<CheckJobEnd> => {
    const offline = await readOfflineJob(check, first.run.result.job_name, context.host);
    return await run(offline, narrow(selection, early, passing));
  };
  const second = reason === null ? await orTold(runOffline, context) : null;
  const report = {
    jobDir: first.run.dir,
    offlineJobDir: second?.run.dir ?? null,
    networkNotLookedAt: reason,
    attempts: job.nAttempts,
    verdicts: reason === null ? judgeTasks({ ...evidence, offlineTrials: second?.trials ?? [] }) : early,
  };
  const isStoppedByBudget = [first, second].some((end) => end?.run.result.stopped_by_budget);
  return { report, isStoppedByBudget };
}

interface ReportedJob {
  readonly job: Job;
  readonly selection: TaskSelection;
  readonly quiet: boolean;
  readonly interrupts: Interrupts;
}

async function runReported(request: ReportedJob, talk: CheckTalk, context: CliContext): Promise<CheckJobEnd> {
  const { terminal, clock } = context;
  // The verdicts are the summary.
  using reporter = openRunReporter({ terminal, clock, json: "final", quiet: request.quiet });
  talk.reporter = reporter;
  const end = await runCheckJob({ ...request, reporter, origin: {} }, context);
  if (end.run.unwritten !== null) throw end.run.unwritten;
  return end;
}

// What the first job showed is told even if the second one cannot start.
async function orTold<T>(work: () => Promise<T>, { terminal, host }: CliContext): Promise<T | null> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RolloutError) && !(error instanceof Interruption)) throw error;
    printError(error, terminal, host.cwd);
    return null;
  }
}

function whyNotOffline(
  isWanted: boolean,
  job: Job,
  { run, canCutNetwork, environmentName }: CheckJobEnd,
  passing: number,
): string | null {
  if (!isWanted) return "--no-network-check";
  if (job.environment.network.verifier === "none") return "the job gives its tests none";
  if (!canCutNetwork) return `environment "${environmentName}" cannot take it away`;
  if (run.result.cancelled) return "the check was stopped";
  if (run.result.stopped_by_budget) return "the budget was spent";
  return passing === 0 ? "no task always passes with it" : null;
}

/** The same selection for the passing tasks alone, in as few words as it takes: people read them in a warning. */
function narrow(selection: TaskSelection, all: readonly TaskVerdict[], passing: readonly TaskVerdict[]): TaskSelection {
  const nameOf = ({ datasetName, taskName }: TaskVerdict): string => `${datasetName}/${taskName}`;
  const passed = new Set(passing);
  const others = all.filter((verdict) => !passed.has(verdict));
  if (others.length === 0) return selection;
  // A first or random so many of fewer tasks would be others.
  const isOpen = selection.limit === null && selection.sample === null;
  if (isOpen && others.length <= passing.length)
    return { ...selection, exclude: [...selection.exclude, ...others.map(nameOf)] };
  const everything = { exclude: [], tags: [], categories: [], limit: null, sample: null };
  return { ...everything, include: passing.map(nameOf), seed: selection.seed };
}
