import { silentLog } from "../base/log.ts";
import { shownPath } from "../base/shown-path.ts";
import { headOf, nextCommands, tailOf } from "./describe-run.ts";
import { JobTally } from "./output/job-tally.ts";
import { plannedTrialsOf } from "./planned-trials-of.ts";
import { toUnit } from "./output/trial-result-schema.ts";
import type { PreparedJob } from "./prepare-job.ts";
import type { PlannedSession } from "./resume/plan-session.ts";
import type { JobRun, RunJobOptions } from "./job-run.ts";
import { RunVoice } from "./run-voice.ts";

/** Tells of a job of which nothing is left to run as if it had just ended, and writes nothing: it is no session. */
export function retellJob(prepared: PreparedJob, session: PlannedSession, options: RunJobOptions): JobRun {
  const { job, redactor, trials } = prepared;
  const { clock, host } = options;
  const { name, paths } = session.directory;
  const jobName = name ?? job.name ?? "";
  const voice = new RunVoice(clock, redactor, silentLog, options.onEvent);
  const location = shownPath(paths.dir, host.cwd);
  voice.emit({ type: "run_started", at: clock.now(), run: headOf(prepared, options, jobName, location) });
  for (const warning of [...prepared.warnings, ...session.warnings]) voice.warn(warning);
  const tally = new JobTally(plannedTrialsOf(trials), job.metrics, !job.verifier.disable);
  for (const { index, key } of trials) {
    const result = session.settled.get(key)?.result;
    if (!result) continue;
    tally.add(index, result);
    voice.kept(toUnit(result));
  }
  const result = tally.result({
    jobName,
    sessions: session.sessions,
    isCancelled: false,
    isStoppedByBudget: false,
    warnings: voice.warnings,
  });
  const next = nextCommands(paths.dir, host.cwd, null, null);
  voice.emit({ type: "run_finished", at: clock.now(), tail: tailOf(result, next, []) });
  return { dir: paths.dir, result, kept: [], leftBehind: [], unwritten: null, resume: null, notes: [] };
}
