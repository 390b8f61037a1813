import type { Json } from "../../base/json.ts";
import type { PlannedBudget, PlannedGroup, Run, RunGroup, RunHeadline, RunShape, RunStatus } from "../../store/run.ts";
import type { JobStartedLine } from "./job-journal.ts";
import type { JobResultFile } from "./job-result-schema.ts";
import type { PlannedTrial } from "./planned-trial.ts";

/** A job as its journal and its result describe it. */
export interface JobFacts {
  readonly started: JobStartedLine;
  readonly plan: readonly PlannedTrial[];
  readonly result: JobResultFile;
  /** False while the job runs, and if its process died. */
  readonly hasEnded: boolean;
  readonly status: RunStatus;
  readonly owner: Run["owner"];
  /** The job directory, as a person would type it. */
  readonly location: string;
  readonly budget?: readonly PlannedBudget[] | undefined;
  readonly notes?: readonly string[] | undefined;
}

/** Returns a job as a run. */
export function toRun({ started, plan, result, hasEnded, status, owner, location, budget, notes }: JobFacts): Run {
  const cancelled = result.errors.trial_cancelled ?? 0;
  return {
    id: started.job_id,
    kind: "job",
    name: started.job_name,
    description: started.description,
    status,
    isResumable: !isComplete(result, hasEnded),
    createdAt: Date.parse(result.started_at),
    endedAt: hasEnded && result.ended_at !== null ? Date.parse(result.ended_at) : null,
    sessions: result.sessions.map((session) => ({
      startedAt: Date.parse(session.started_at),
      endedAt: session.ended_at === null ? null : Date.parse(session.ended_at),
      durationSec: session.duration_sec,
    })),
    owner,
    shape: jobShape(started.has_verifier),
    plan: {
      total: plan.length,
      concurrency: started.n_concurrent_trials,
      groups: groupsOf(plan),
      budget: budget ?? [],
      metrics: started.metrics,
    },
    counts: {
      finished: result.completed_trials + result.failed_trials,
      completed: result.completed_trials,
      failed: result.failed_trials - cancelled,
      cancelled,
      untrusted: result.untrusted_trials,
    },
    headline: started.has_verifier ? headlineOf(result) : null,
    groups: started.has_verifier ? groupHeadlines(result) : [],
    spendUsd: result.total_cost,
    unknownSpends: result.unknown_cost_trials,
    scores: [],
    targets: started.agents,
    datasets: started.datasets.map(({ name, version }) => ({ name, version, id: null })),
    location,
    params: {},
    tags: started.tags,
    git: started.git && { revision: started.git.revision, isDirty: started.git.is_dirty },
    rolloutVersion: started.rollout_version,
    error: null,
    warnings: result.warnings,
    notes: notes ?? [],
    details: {
      job_file: started.job_file,
      n_attempts: started.n_attempts,
      has_verifier: started.has_verifier,
      selection: started.selection as Json,
      skipped_trials: result.skipped_trials,
      mixed_inputs: result.mixed_inputs.length,
    },
  };
}

/** Returns how a job that does not run ended. */
export function endedStatus(result: Pick<JobResultFile, "cancelled" | "stopped_by_budget">): RunStatus {
  return result.cancelled ? "cancelled" : result.stopped_by_budget ? "budget_exhausted" : "completed";
}

/** Returns whether a job has ended with nothing left to run, whatever its trials ended with. */
export function isComplete(
  result: Pick<JobResultFile, "skipped_trials" | "errors" | "stopped_by_budget">,
  hasEnded: boolean,
): boolean {
  if (!hasEnded || result.stopped_by_budget) return false;
  return result.skipped_trials === 0 && result.errors.trial_cancelled === undefined;
}

/** Returns how reports lay out a job. Without a verifier nothing has a reward, and no rate is shown. */
function jobShape(hasVerifier: boolean): RunShape {
  return {
    groupBy: ["agent", "dataset"],
    itemLabel: "task",
    scoreName: hasVerifier ? "reward" : "",
    passAt: 1,
    unitNoun: "trial",
  };
}

function groupsOf(plan: readonly PlannedTrial[]): PlannedGroup[] {
  const groups = new Map<string, PlannedGroup>();
  for (const { agentName: agent, datasetName: dataset } of plan) {
    const key = `${agent}\0${dataset}`;
    groups.set(key, { labels: { agent, dataset }, total: (groups.get(key)?.total ?? 0) + 1 });
  }
  return [...groups.values()];
}

function groupHeadlines({ agents }: JobResultFile): RunGroup[] {
  return Object.entries(agents).flatMap(([agent, { datasets }]) =>
    Object.entries(datasets).map(([dataset, stats]) => ({ labels: { agent, dataset }, headline: headlineOf(stats) })),
  );
}

function headlineOf({ headline }: Pick<JobResultFile, "headline">): RunHeadline {
  const { rate, interval, passed, counted, excluded_by: excluded } = headline;
  return {
    score: "reward",
    measure: "pass_rate",
    value: rate,
    interval: interval as RunHeadline["interval"],
    passed,
    counted,
    excluded,
  };
}
