import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Host } from "../../base/host.ts";
import { toPathSegment } from "../../base/path-segment.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Job } from "../../jobs/config/job.ts";
import { openEarlierWork } from "../../jobs/resume/open-earlier-work.ts";
import type { CliContext } from "../cli-context.ts";
import type { JobOptions } from "../job-options.ts";
import { readJobArguments, selectionOf } from "../read-job-arguments.ts";
import { wishesOf, type ResumeOptions } from "../resume-options.ts";
import { runJob } from "../run-job.ts";
import type { OriginOptions } from "../run-origin.ts";
import { jsonModeOf, listenAndReport, type ReportOptions } from "../report-options.ts";

export interface RunOptions extends JobOptions, ReportOptions, ResumeOptions, OriginOptions {
  readonly resume?: boolean;
  readonly store?: string;
}

/** `rollout run`: runs a job, or with `--resume` what is left of it, and returns its exit code. */
export async function runCommand(paths: readonly string[], options: RunOptions, context: CliContext): Promise<number> {
  const { host, clock } = context;
  const wishes = wishesOf(options);
  if (options.resume !== true && (options.retryFailed !== undefined || options.acceptChanges === true))
    throw new RolloutError("usage_invalid", "--retry-failed and --accept-changes are for a job that is resumed", {
      hint: "add --resume, or: rollout resume <job-directory>",
    });
  const job = await readJobArguments(paths, options, host);
  const dir = options.resume === true ? directoryOf(job, host) : null;
  using told = listenAndReport(options, context);
  const { reporter, interrupts } = told;
  await using earlier =
    dir !== null && existsSync(dir) ? await openEarlierWork(dir, { host, clock, signal: interrupts.signal }) : null;
  const asked = { selection: selectionOf(options), json: jsonModeOf(options), quiet: options.quiet === true };
  return await runJob(
    { job, earlier, wishes, ...asked, origin: options, store: options.store },
    reporter,
    interrupts,
    context,
  );
}

function directoryOf({ jobsDir, name }: Job, host: Host): string {
  if (name !== null) return join(jobsDir, toPathSegment(name));
  throw new RolloutError("usage_invalid", "--resume needs a job with a name, and this one has none", {
    hint: `name its directory instead: rollout resume ${jobsDir.startsWith(`${host.cwd}/`) ? jobsDir.slice(host.cwd.length + 1) : jobsDir}/<job>`,
  });
}
