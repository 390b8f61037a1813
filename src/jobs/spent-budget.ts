import type { Host } from "../base/host.ts";
import { RolloutError } from "../base/rollout-error.ts";
import { shownPath } from "../base/shown-path.ts";
import type { JobTally } from "./output/job-tally.ts";
import { budgetOf, budgetWords, resumeCommand, spentBefore } from "./describe-run.ts";
import type { JobResultFile } from "./output/job-result-schema.ts";
import type { PreparedJob } from "./prepare-job.ts";
import { describeRaised, raiseBudget, type RaisedLimit } from "./raise-budget.ts";
import type { PlannedSession } from "./resume/plan-session.ts";

/** Rejects a job that is taken up again with nothing left of its budget, with the command that gives it more. */
export function refuseSpentBudget(prepared: PreparedJob, session: PlannedSession | null, { cwd }: Host): void {
  if (session === null) return;
  const left = session.trials.length;
  const raised = raiseBudget({
    budget: prepared.job.budget,
    spent: spentBefore(session),
    finished: prepared.trials.length - left,
    left,
    deadlineSec: deadlineSecOf(prepared, session),
  });
  if (raised.length === 0) return;
  const { dir } = session.directory.paths;
  throw new RolloutError("budget_spent", `the budget of ${shownPath(dir, cwd)} is spent; nothing was started`, {
    details: describeRaised(raised),
    hint: `give it more:${budgetWords(raised)}, as in ${resumeCommand(dir, cwd, raised, session.retryFailed)}`,
  });
}

/** What it takes to go on with a job that has just ended. */
export function raiseAfterRun(
  prepared: PreparedJob,
  session: PlannedSession | null,
  { total_trials: total, total_duration_sec: wallSec, errors }: JobResultFile,
  tally: JobTally,
  unstarted: number,
): RaisedLimit[] {
  const left = unstarted + (errors.trial_cancelled ?? 0);
  return raiseBudget({
    budget: prepared.job.budget,
    spent: { ...tally.spent(), wallSec },
    finished: Math.max(0, total - left),
    left,
    deadlineSec: deadlineSecOf(prepared, session),
  });
}

function deadlineSecOf(prepared: PreparedJob, session: PlannedSession | null): number | null {
  return budgetOf(prepared, session).find(({ name }) => name === "wall_sec")?.atMost ?? null;
}
