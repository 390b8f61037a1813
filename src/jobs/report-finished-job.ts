import { silentLog } from "../base/log.ts";
import { shownPath } from "../base/shown-path.ts";
import { budgetOf, nextCommands } from "./describe-run.ts";
import { JobTally } from "./output/job-tally.ts";
import { plannedTrialsOf } from "./planned-trials-of.ts";
import { toRun } from "./output/to-run.ts";
import { toUnit } from "./output/trial-unit.ts";
import type { PreparedJob } from "./prepare-job.ts";
import type { PlannedSession } from "./resume/plan-session.ts";
import type { JobRun, RunJobOptions } from "./job-run.ts";
import { JobEvents } from "./job-events.ts";

/** Reports a job with nothing left to run as if it had just ended. Writes nothing: this is not a session. */
export async function reportFinishedJob(
  prepared: PreparedJob,
  session: PlannedSession,
  options: RunJobOptions,
): Promise<JobRun> {
  const { job, redactor, trials } = prepared;
  const { clock, host } = options;
  const { name, paths } = session.directory;
  const jobName = name ?? job.name ?? "";
  const events = new JobEvents(clock, redactor, silentLog, options.onEvent);
  const plan = plannedTrialsOf(trials);
  const tally = new JobTally(plan, job.metrics, !job.verifier.disable);
  const settled = trials.flatMap(({ index, key }) => {
    const result = session.settled.get(key)?.result;
    if (result) tally.add(index, result);
    return result ? [toUnit(result, index)] : [];
  });
  const warnings = [...prepared.warnings, ...session.warnings];
  const end = { jobName, sessions: session.sessions, isCancelled: false, isStoppedByBudget: false, warnings };
  const result = tally.result(end);
  if (session.started === null) throw new Error("a job without a first line was taken for a finished one");
  const run = toRun({
    started: session.started,
    plan,
    result,
    hasEnded: true,
    status: "completed",
    owner: null,
    location: shownPath(paths.dir, host.cwd),
    budget: budgetOf(prepared, session),
  });
  void events.emit({ type: "run_started", at: clock.now(), run });
  for (const warning of warnings) events.warn(warning);
  for (const unit of settled) events.restored(unit);
  const next = nextCommands(paths.dir, host.cwd, null, null);
  await events.emit({ type: "run_finished", at: clock.now(), run, next });
  // With an error of the listener.
  const reported = { ...result, warnings: [...events.warnings] };
  return { dir: paths.dir, result: reported, run, kept: [], leftBehind: [], unwritten: null, resume: null, notes: [] };
}
