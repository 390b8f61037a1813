import { sumSpent } from "../jobs/budget-preview.ts";
import { resumeCommand } from "../jobs/describe-run.ts";
import { isComplete } from "../jobs/output/to-run.ts";
import { readBudget } from "../jobs/output/read-budget.ts";
import type { JobRecord } from "../jobs/output/read-job.ts";
import { isInterrupted } from "../jobs/output/trial-result-schema.ts";
import { describeRaised, raiseBudget } from "../jobs/raise-budget.ts";

/** How to resume a job that does not run: the command, and why it is not the plain one. */
export interface NextOfJob {
  /** Null when nothing of the job is left. */
  readonly command: string | null;
  readonly notes: readonly string[];
}

/** Returns what to type to resume a job that has ended or whose process died. */
export async function nextOfJob(job: JobRecord, cwd: string): Promise<NextOfJob> {
  const { dir, result, hasEnded, plan, trials } = job;
  if (isComplete(result, hasEnded)) return { command: null, notes: [] };
  const finished = trials.filter((trial) => !isInterrupted(trial)).length;
  const raised = raiseBudget({
    budget: await readBudget(dir),
    spent: sumSpent(trials, result.sessions),
    finished,
    left: plan.length - finished,
    deadlineSec: null,
  });
  return { command: resumeCommand(dir, cwd, raised), notes: describeRaised(raised) };
}
