import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { ownerLabels } from "../base/owner-labels.ts";
import type { Host } from "../base/host.ts";
import { readStartTicks } from "../base/process-start.ts";
import { shellWord, shownPath } from "../base/shown-path.ts";
import type { PlannedBudget, RunOrigin } from "../store/run.ts";
import { budgetedTrials, previewBudget, sumSpent, type SpentBefore } from "./budget-preview.ts";
import { describeBudget } from "./describe-budget.ts";
import type { JobEndedLine, JobStartedLine } from "./output/job-journal.ts";
import type { JobResultFile, SessionFile } from "./output/job-result-schema.ts";
import type { PreparedJob } from "./prepare-job.ts";
import type { RaisedLimit } from "./raise-budget.ts";
import type { PlannedSession, SessionWishes } from "./resume/plan-session.ts";

export interface RunIdentity {
  readonly runId: string;
  readonly host: Host;
  readonly clock: Clock;
  readonly origin: RunOrigin;
}

/** A session that starts. */
export interface SessionStart {
  readonly name: string;
  readonly session: number;
  readonly startedAt: number;
  readonly earlier: PlannedSession | null;
  readonly acceptedChanges: readonly string[];
}

/** Returns the commands to type after a job: resume it if something is left, show a failed trial, show the job. */
export function nextCommands(dir: string, cwd: string, failedKey: string | null, resume: string | null): string[] {
  const show = (path: string): string => `rollout show ${shellWord(shownPath(path, cwd))}`;
  return [...(resume === null ? [] : [resume]), ...(failedKey === null ? [] : [show(join(dir, failedKey))]), show(dir)];
}

/** Returns the command that resumes a job, with a larger budget if it is spent. */
export function resumeCommand(
  dir: string,
  cwd: string,
  raised: readonly RaisedLimit[] = [],
  retryFailed: SessionWishes["retryFailed"] = [],
): string {
  const types = retryFailed === "all" ? " --retry-failed" : ` --retry-failed ${retryFailed.join(",")}`;
  const again = retryFailed.length === 0 ? "" : types;
  return `rollout resume ${shellWord(shownPath(dir, cwd))}${again}${budgetWords(raised)}`;
}

/** Returns the options that raise the spent limits of a budget. */
export function budgetWords(raised: readonly RaisedLimit[]): string {
  return raised.map(({ name, raised: limit }) => ` --set budget.${name}=${limit}`).join("");
}

/** Returns the command that enters the environment a trial preserved. */
export function enterCommand(trialDir: string, cwd: string): string {
  return `rollout enter ${shellWord(shownPath(trialDir, cwd))}`;
}

/** Returns the process that runs the job, for the lock file. */
export function ownerOf({ host, runId, clock }: RunIdentity): Record<string, unknown> {
  return {
    run_id: runId,
    pid: host.pid,
    hostname: host.hostname,
    boot_id: host.bootId,
    start_ticks: readStartTicks(host.pid),
    started_at: new Date(clock.now()).toISOString(),
  };
}

/** Returns the labels of every environment of a run, so that leftover ones are found. */
export function environmentLabels({ host, runId }: RunIdentity, jobName: string): Record<string, string> {
  return { "rollout.run": runId, "rollout.job": jobName, ...ownerLabels(host) };
}

/** Returns the first line of a session in the journal. */
export function startedLine(
  prepared: PreparedJob,
  { host, runId, origin }: RunIdentity,
  { name, session, startedAt, earlier, acceptedChanges }: SessionStart,
): JobStartedLine {
  const { job, datasets } = prepared;
  return {
    type: "job_started",
    schema_version: 1,
    run_id: runId,
    job_id: earlier?.started?.job_id ?? runId,
    session,
    job_name: name,
    job_file: job.file,
    base_dir: job.baseDir,
    started_at: new Date(startedAt).toISOString(),
    pid: host.pid,
    hostname: host.hostname,
    boot_id: host.bootId,
    start_ticks: readStartTicks(host.pid),
    earlier_sessions: earlier?.sessions ?? [],
    n_concurrent_trials: job.nConcurrentTrials,
    metrics: job.metrics,
    has_verifier: !job.verifier.disable,
    agents: job.agents.map((agent) => agent.name),
    tasks: datasets.flatMap((dataset) => dataset.tasks.map((task) => ({ dataset: dataset.name, task: task.name }))),
    n_attempts: job.nAttempts,
    selection: prepared.selection,
    accepted_changes: acceptedChanges,
    warnings: prepared.warnings,
    datasets: datasets.map((dataset) => ({ name: dataset.name, version: dataset.version })),
    description: origin.description ?? earlier?.started?.description ?? null,
    tags: { ...earlier?.started?.tags, ...origin.tags },
    // The state in which the job was created.
    git: earlier?.started
      ? earlier.started.git
      : origin.git && { revision: origin.git.revision, is_dirty: origin.git.isDirty },
    rollout_version: origin.rolloutVersion,
  };
}

/** Compares the budget with what a session is going to run. */
export function budgetOf(prepared: PreparedJob, session: PlannedSession | null): PlannedBudget[] {
  const { job, datasets, provider } = prepared;
  return previewBudget({
    job,
    trials: session?.trials ?? prepared.trials,
    datasets,
    pricePerHour: provider.pricePerHour ?? null,
    before: spentBefore(session),
  });
}

/** Returns the same as text, a line for each limit. */
export function budgetLines(prepared: PreparedJob, session: PlannedSession | null): string[] {
  const trials = budgetedTrials({ ...prepared, trials: session?.trials ?? prepared.trials });
  return describeBudget(budgetOf(prepared, session), trials);
}

/** Returns what earlier sessions of a job have spent. */
export function spentBefore(session: PlannedSession | null): SpentBefore {
  const results = [...(session?.settled.values() ?? [])].flatMap(({ result }) => result ?? []);
  return sumSpent(results, session?.sessions ?? []);
}

/** Returns a session as result.json contains it. */
export function describeSession(startedAt: number, endedAt: number | null, durationMs: number): SessionFile {
  return {
    started_at: new Date(startedAt).toISOString(),
    ended_at: endedAt === null ? null : new Date(endedAt).toISOString(),
    duration_sec: Math.round(durationMs) / 1000,
  };
}

/** Returns the last line of a session in the journal. */
export function endedLine(result: JobResultFile, endedAt: number, skipped: readonly number[]): JobEndedLine {
  return {
    type: "job_ended",
    ended_at: new Date(endedAt).toISOString(),
    duration_sec: result.sessions.at(-1)?.duration_sec ?? 0,
    cancelled: result.cancelled,
    stopped_by_budget: result.stopped_by_budget,
    skipped,
    warnings: result.warnings,
  };
}
