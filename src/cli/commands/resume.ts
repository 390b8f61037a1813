import { stat } from "node:fs/promises";
import type { Host } from "../../base/host.ts";
import { shellWord, shownPath } from "../../base/shown-path.ts";
import { loadRecordedJob, recordedSelection } from "../../jobs/resume/load-recorded-job.ts";
import { openEarlierWork, type EarlierWork } from "../../jobs/resume/open-earlier-work.ts";
import type { CliContext } from "../cli-context.ts";
import type { JobOptions } from "../job-options.ts";
import { overridesOf } from "../read-job-arguments.ts";
import type { OriginOptions } from "../run-origin.ts";
import { jsonModeOf, listenAndReport, type ReportOptions } from "../report-options.ts";
import { wishesOf, type ResumeOptions } from "../resume-options.ts";
import { runJob } from "../run-job.ts";
import { locateJobDirectory } from "../runs/locate-job.ts";

export type ResumeCommandOptions = Pick<JobOptions, "attempts" | "concurrency" | "set"> &
  ReportOptions &
  ResumeOptions &
  OriginOptions & { readonly store?: string };

/** `rollout resume`: runs what is left of the job in a directory and returns its exit code. */
export async function resumeCommand(word: string, options: ResumeCommandOptions, context: CliContext): Promise<number> {
  const { host, clock } = context;
  const dir = await locateJobDirectory(word, context);
  const wishes = wishesOf(options);
  using told = listenAndReport(options, context);
  const { reporter, interrupts } = told;
  await using earlier = await openEarlierWork(dir, { host, clock, signal: interrupts.signal });
  const job = loadRecordedJob(earlier, overridesOf(options, host.cwd), host);
  if (options.quiet !== true) for (const line of await newerFile(earlier, host)) reporter.say(line);
  const asked = { selection: recordedSelection(earlier), json: jsonModeOf(options), quiet: options.quiet === true };
  return await runJob(
    { job, earlier, wishes, ...asked, origin: options, store: options.store },
    reporter,
    interrupts,
    context,
  );
}

// The job is the one that ran; somebody who edited its file may expect another.
async function newerFile({ journal: { started } }: EarlierWork, { cwd }: Host): Promise<string[]> {
  if (!started?.job_file) return [];
  const file = await stat(started.job_file).catch(() => null);
  if (!file || file.mtimeMs <= Date.parse(started.started_at)) return [];
  const shown = shownPath(started.job_file, cwd);
  const command = `rollout ${shellWord(shown)} --resume --name ${shellWord(started.job_name)}`;
  return [`${shown} was written after the job ran; this goes on with the job as it ran, and ${command} with the file`];
}
