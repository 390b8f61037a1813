import { join } from "node:path";
import type { Clock } from "../base/clock.ts";
import { ownerLabels } from "../base/owner-labels.ts";
import type { Host } from "../base/host.ts";
import { readStartTicks } from "../base/process-start.ts";
import { shellWord, shownPath } from "../base/shown-path.ts";
import type { PlannedBudget, PlannedGroup, RunHead, RunShape, RunTail } from "../store/run.ts";
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
}

/** A session that begins. */
export interface SessionStart {
  readonly name: string;
  readonly session: number;
  readonly startedAt: number;
  readonly earlierSessions: readonly SessionFile[];
  readonly acceptedChanges: readonly string[];
}

/** Returns how every report lays a job out. Without a verifier nothing has a reward, and no rate is shown. */
export function jobShape(hasVerifier: boolean): RunShape {
  return {
    groupBy: ["agent", "dataset"],
    itemLabel: "task",
    markName: hasVerifier ? "reward" : "",
    passAt: 1,
    unitNoun: "trial",
  };
}

/** What to type after a job: what continues it when something of it is left, and a trial that failed is worth a look. */
export function nextCommands(dir: string, cwd: string, failedKey: string | null, resume: string | null): string[] {
  const show = (path: string): string => `rollout show ${shellWord(shownPath(path, cwd))}`;
  return [...(resume === null ? [] : [resume]), ...(failedKey === null ? [] : [show(join(dir, failedKey))]), show(dir)];
}

/** What to type to take a job up again, with a larger budget where the one it has is spent. */
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

/** The options that raise what is spent of a budget. */
export function budgetWords(raised: readonly RaisedLimit[]): string {
  return raised.map(({ name, raised: limit }) => ` --set budget.${name}=${limit}`).join("");
}

/** True when a job has ended and nothing of it is left to run, whatever its trials ended with. */
export function isWhole(result: Pick<JobResultFile, "skipped_trials" | "errors">, hasEnded: boolean): boolean {
  return hasEnded && result.skipped_trials === 0 && result.errors.trial_cancelled === undefined;
}

/** What to type to enter the environment that a trial kept. */
export function enterCommand(trialDir: string, cwd: string): string {
  return `rollout enter ${shellWord(shownPath(trialDir, cwd))}`;
}

/** Who runs the job, for the lock file. */
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

/** What every environment of a run carries, so that one left behind is found again. */
export function environmentLabels({ host, runId }: RunIdentity, jobName: string): Record<string, string> {
  return { "rollout.run": runId, "rollout.job": jobName, ...ownerLabels(host) };
}

/** The first line of a session in the journal. */
export function startedLine(
  prepared: PreparedJob,
  { host, runId }: RunIdentity,
  { name, session, startedAt, earlierSessions, acceptedChanges }: SessionStart,
): JobStartedLine {
  const { job, datasets } = prepared;
  return {
    type: "job_started",
    schema_version: 1,
    run_id: runId,
    session,
    job_name: name,
    job_file: job.file,
    base_dir: job.baseDir,
    started_at: new Date(startedAt).toISOString(),
    pid: host.pid,
    hostname: host.hostname,
    boot_id: host.bootId,
    start_ticks: readStartTicks(host.pid),
    earlier_sessions: earlierSessions,
    n_concurrent_trials: job.nConcurrentTrials,
    metrics: job.metrics,
    has_verifier: !job.verifier.disable,
    agents: job.agents.map((agent) => agent.name),
    tasks: datasets.flatMap((dataset) => dataset.tasks.map((task) => ({ dataset: dataset.name, task: task.name }))),
    n_attempts: job.nAttempts,
    selection: prepared.selection,
    accepted_changes: acceptedChanges,
    warnings: prepared.warnings,
  };
}

/** The head of the run that events begin with. */
export function headOf(
  prepared: PreparedJob,
  { runId, session }: Pick<RunIdentity, "runId"> & { readonly session: PlannedSession | null },
  name: string,
  dir: string,
): RunHead {
  const { job, datasets, trials } = prepared;
  const groups = job.agents.flatMap((agent) =>
    datasets.map((dataset): PlannedGroup => ({
      labels: { agent: agent.name, dataset: dataset.name },
      total: dataset.tasks.length * job.nAttempts,
    })),
  );
  return {
    id: runId,
    kind: "job",
    name,
    total: trials.length,
    groups,
    concurrency: job.nConcurrentTrials,
    budget: budgetOf(prepared, session),
    shape: jobShape(!job.verifier.disable),
    metrics: job.metrics,
    location: dir,
  };
}

/** What the budget allows of what a session is to run. */
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

/** The same for people, a line for each limit. */
export function budgetLines(prepared: PreparedJob, session: PlannedSession | null): string[] {
  const trials = budgetedTrials({ ...prepared, trials: session?.trials ?? prepared.trials });
  return describeBudget(budgetOf(prepared, session), trials);
}

/** What earlier sessions of a job have spent. */
export function spentBefore(session: PlannedSession | null): SpentBefore {
  const results = [...(session?.settled.values() ?? [])].flatMap(({ result }) => result ?? []);
  return sumSpent(results, session?.sessions ?? []);
}

/** A session as results tell of it. */
export function describeSession(startedAt: number, endedAt: number | null, durationMs: number): SessionFile {
  return {
    started_at: new Date(startedAt).toISOString(),
    ended_at: endedAt === null ? null : new Date(endedAt).toISOString(),
    duration_sec: Math.round(durationMs) / 1000,
  };
}

/** The last line of a session in the journal. */
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

/** How the run ended, for the event that ends it. */
export function tailOf(result: JobResultFile, next: readonly string[], notes: readonly string[]): RunTail {
  const status = result.cancelled ? "cancelled" : result.stopped_by_budget ? "budget_exhausted" : "completed";
  const { skipped_trials: skipped, total_duration_sec: durationSec, sessions } = result;
  return { status, skipped, durationSec, sessions: sessions.length, ...(notes.length > 0 ? { notes } : {}), next };
}
