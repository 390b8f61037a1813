import { existsSync } from "node:fs";
import { plainJson } from "../../base/plain-json.ts";
import { plainText } from "../../base/terminal-text.ts";
import { jobPaths, sittingLog } from "../../jobs/output/job-paths.ts";
import type { JobRecord } from "../../jobs/output/read-job.ts";
import { readRunning, type RunningTrial } from "../../jobs/output/read-running.ts";
import { costText, countText, elapsedText, percentText } from "../../report/number-text.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { isJobAlive, readNamedJob } from "../job-life.ts";

const mostShown = 20;

type JobState = "running" | "paused" | "ended" | "died";

/** `rollout status`: where a job stands, in a few lines or as JSON. */
export async function statusCommand(
  directory: string,
  options: { readonly json?: boolean },
  { host, terminal, clock }: CliContext,
): Promise<number> {
  const job = await readNamedJob(directory, host);
  const paths = jobPaths(job.dir);
  const isAlive = !job.hasEnded && isJobAlive(job, host);
  const state: JobState = job.hasEnded ? "ended" : !isAlive ? "died" : existsSync(paths.pause) ? "paused" : "running";
  const running = isAlive ? await readRunning(sittingLog(paths, job.result.sittings.length)) : [];
  const nowMs = clock.now();
  if (options.json) terminal.out(`${plainJson(describe(job, state, running), 2)}\n`);
  else for (const line of lines(job, state, running, nowMs)) terminal.out(`${plainText(line)}\n`);
  return exitCodes.done;
}

function describe(job: JobRecord, state: JobState, running: readonly RunningTrial[]): object {
  const { result, started } = job;
  return {
    schema_version: 1,
    job_dir: job.dir,
    state,
    pid: started.pid,
    hostname: started.hostname,
    total_trials: result.total_trials,
    completed_trials: result.completed_trials,
    failed_trials: result.failed_trials,
    untrusted_trials: result.untrusted_trials,
    pass_rate: result.pass_rate,
    total_cost: result.total_cost,
    unknown_cost_trials: result.unknown_cost_trials,
    running: running.map(({ key, phase, startedAt, phaseAt }) => ({
      key,
      phase,
      started_at: new Date(startedAt).toISOString(),
      phase_started_at: new Date(phaseAt).toISOString(),
    })),
  };
}

function lines(job: JobRecord, state: JobState, running: readonly RunningTrial[], nowMs: number): string[] {
  const { result, started, trials, plan } = job;
  const where = `process ${started.pid} on ${started.hostname}`;
  const head = {
    running: `running: ${where}`,
    paused: `paused: ${where}; trials that run go on, no new ones start`,
    ended: "ended",
    died: `did not end: ${where} is gone`,
  }[state];
  const counts = [
    `${trials.length} of ${countText(plan.length, "trial")} finished`,
    ...(result.pass_rate === null ? [] : [`${percentText(result.pass_rate)} passed`]),
    ...(result.failed_trials > 0 ? [`${result.failed_trials} failed`] : []),
    ...(result.untrusted_trials > 0 ? [`${result.untrusted_trials} untrusted`] : []),
    ...(running.length > 0 ? [`${running.length} running`] : []),
    ...(result.total_cost > 0 ? [costText(result.total_cost)] : []),
    ...(result.unknown_cost_trials > 0 ? [`cost of ${countText(result.unknown_cost_trials, "trial")} unknown`] : []),
  ];
  const shown = running.slice(0, mostShown).map(({ key, phase, startedAt }) => {
    const age = elapsedText((nowMs - startedAt) / 1000);
    return `  ${key}  ${(phase ?? "starting").replaceAll("_", " ")}, ${age}`;
  });
  const hidden = running.length - shown.length;
  return [`${started.job_name}  ${head}`, counts.join(", "), ...shown, ...(hidden > 0 ? [`  and ${hidden} more`] : [])];
}
