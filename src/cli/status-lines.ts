import type { JobRecord } from "../jobs/output/read-job.ts";
import type { RunningTrial } from "../jobs/output/read-running.ts";
import { costText, countText, elapsedText, percentText } from "../report/number-text.ts";
import type { NextOfJob } from "./next-of-job.ts";

export type JobState = "running" | "paused" | "ended" | "died";

/** Where a job stands, for its status. */
export interface JobStand {
  readonly job: JobRecord;
  readonly state: JobState;
  readonly running: readonly RunningTrial[];
  readonly next: NextOfJob;
}

const mostShown = 20;

/** A job's status for people: how it stands, what has become of its trials, what its rates are of, what to type next. */
export function statusLines({ job, state, running, next }: JobStand, nowMs: number): string[] {
  const shown = running.slice(0, mostShown).map(({ key, phase, startedAt }) => {
    const age = elapsedText((nowMs - startedAt) / 1000);
    return `  ${key}  ${(phase ?? "starting").replaceAll("_", " ")}, ${age}`;
  });
  const hidden = running.length - shown.length;
  return [
    `${job.started.job_name}  ${headOf(job, state)}`,
    countsOf(job, state, running.length).join(", "),
    ...ratesOf(job),
    ...shown,
    ...(hidden > 0 ? [`  and ${hidden} more`] : []),
    ...next.notes,
    ...(next.command === null ? [] : [`next: ${next.command}`]),
  ];
}

function headOf({ started, result }: JobRecord, state: JobState): string {
  const where = `process ${started.pid} on ${started.hostname}`;
  const end = result.cancelled ? "cancelled" : result.stopped_by_budget ? "stopped by its budget" : "completed";
  return {
    running: `running: ${where}`,
    paused: `paused: ${where}; trials that run go on, no new ones start`,
    ended: end,
    died: `interrupted: it did not end, and ${where} is gone`,
  }[state];
}

function countsOf({ result, trials, plan }: JobRecord, state: JobState, running: number): string[] {
  const cut = result.errors.trial_cancelled ?? 0;
  const failed = result.failed_trials - cut;
  const rest = plan.length - trials.length - running;
  const restWord = state === "ended" ? "skipped" : state === "died" ? "without a result" : "to come";
  return [
    `${trials.length - cut} of ${countText(plan.length, "trial")} finished`,
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(cut > 0 ? [`${cut} cut short`] : []),
    ...(running > 0 ? [`${running} running`] : []),
    ...(rest > 0 ? [`${rest} ${restWord}`] : []),
    ...(result.untrusted_trials > 0 ? [`${result.untrusted_trials} untrusted`] : []),
    ...(result.total_cost > 0 ? [costText(result.total_cost)] : []),
    ...(result.unknown_cost_trials > 0 ? [`cost of ${countText(result.unknown_cost_trials, "trial")} unknown`] : []),
  ];
}

function ratesOf({ result: { headline } }: JobRecord): string[] {
  if (headline.rate === null) return [];
  const reasons = Object.entries(headline.excluded_by).map(([reason, count]) => `${count} ${reason}`);
  const excluded = headline.excluded > 0 ? `; ${headline.excluded} not counted: ${reasons.join(", ")}` : "";
  return [`pass ${percentText(headline.rate)} (${headline.passed} of ${headline.counted}${excluded})`];
}
