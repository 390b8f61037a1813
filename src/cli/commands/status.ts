import { existsSync } from "node:fs";
import { plainJson } from "../../base/plain-json.ts";
import { plainText } from "../../base/terminal-text.ts";
import { jobPaths, sessionLog } from "../../jobs/output/job-paths.ts";
import { readRunning } from "../../jobs/output/read-running.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { isJobAlive } from "../job-life.ts";
import { readNamedJob } from "../runs/locate-job.ts";
import { nextOfJob } from "../next-of-job.ts";
import { runningOf } from "../running-of.ts";
import { statusLines, type JobStand, type JobState } from "../status-lines.ts";

/** `rollout status`: where a job stands, in a few lines or as JSON. */
export async function statusCommand(
  word: string,
  options: { readonly json?: boolean },
  context: CliContext,
): Promise<number> {
  const { host, terminal, clock } = context;
  const job = await readNamedJob(word, context);
  const paths = jobPaths(job.dir);
  const isAlive = !job.hasEnded && isJobAlive(job, host);
  const state: JobState = job.hasEnded ? "ended" : !isAlive ? "died" : existsSync(paths.pause) ? "paused" : "running";
  const logged = isAlive ? await readRunning(sessionLog(paths, job.result.sessions.length)) : [];
  const running = runningOf(job, logged);
  const next = isAlive ? { command: null, notes: [] } : await nextOfJob(job, host.cwd);
  const stand: JobStand = { job, state, running, next };
  if (options.json) terminal.out(`${plainJson(describe(stand), 2)}\n`);
  else for (const line of statusLines(stand, clock.now())) terminal.out(`${plainText(line)}\n`);
  return exitCodes.done;
}

function describe({ job, state, running, next }: JobStand): object {
  const { result, started, plan, trials } = job;
  return {
    schema_version: 1,
    job_dir: job.dir,
    state,
    cancelled: result.cancelled,
    stopped_by_budget: result.stopped_by_budget,
    pid: started.pid,
    hostname: started.hostname,
    total_trials: result.total_trials,
    completed_trials: result.completed_trials,
    failed_trials: result.failed_trials,
    // What a process that died did not come to was skipped as well.
    skipped_trials: state === "died" ? plan.length - trials.length : result.skipped_trials,
    untrusted_trials: result.untrusted_trials,
    headline: result.headline,
    pass_rate: result.pass_rate,
    pass_rate_over_planned: result.pass_rate_over_planned,
    total_cost: result.total_cost,
    unknown_cost_trials: result.unknown_cost_trials,
    next: next.command,
    running: running.map(({ key, phase, startedAt, phaseAt }) => ({
      key,
      phase,
      started_at: new Date(startedAt).toISOString(),
      phase_started_at: new Date(phaseAt).toISOString(),
    })),
  };
}
