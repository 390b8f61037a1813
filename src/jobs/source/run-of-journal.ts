import type { Run } from "../../store/run.ts";
import { planOfJournal, type JobStartedLine } from "../output/job-journal.ts";
import { JobTally } from "../output/job-tally.ts";
import { endedStatus, toRun } from "../output/to-run.ts";
import { toTallied } from "./indexed-trial.ts";
import type { JournalState } from "./journal-state.ts";

/** Returns a job as a run. A job without an end is `interrupted`: a journal does not show whether its process is alive. */
export function runOfJournal(state: JournalState, started: JobStartedLine, location: string): Run {
  const { ended, sessions } = state;
  const plan = planOfJournal(started);
  const tally = new JobTally(plan, started.metrics, started.has_verifier);
  for (const trial of state.trials()) tally.add(trial.row.index, toTallied(trial));
  tally.skip(ended?.skipped ?? []);
  const result = tally.result({
    jobName: started.job_name,
    sessions,
    isCancelled: ended?.cancelled ?? false,
    isStoppedByBudget: ended?.stopped_by_budget ?? false,
    warnings: ended?.warnings ?? started.warnings,
  });
  const hasEnded = ended !== null;
  const status = hasEnded ? endedStatus(result) : "interrupted";
  return toRun({ started, plan, result, hasEnded, status, owner: null, location });
}
