import { rmSync, writeFileSync } from "node:fs";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord } from "../../base/shown-path.ts";
import { jobPaths } from "../../jobs/output/job-paths.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { isJobAlive, readNamedJob } from "../job-life.ts";
import { nextOfJob } from "../next-of-job.ts";

/** `rollout pause` and `rollout continue`: tell the process that runs a job to take no new trials, or to take them again. */
export async function holdCommand(
  directory: string,
  wish: "pause" | "continue",
  { host, terminal }: CliContext,
): Promise<number> {
  const job = await readNamedJob(directory, host);
  if (job.hasEnded || !isJobAlive(job, host)) {
    const { command } = await nextOfJob(job, host.cwd);
    const why = job.hasEnded ? "only a running job can be held" : "its process is gone";
    throw new RolloutError("not_found", `${directory} is not running`, {
      hint: command === null ? why : `${why}; go on with: ${command}`,
    });
  }
  const { pause } = jobPaths(job.dir);
  if (wish === "pause") {
    writeFileSync(pause, "");
    terminal.out(
      `paused: trials that run go on, no new ones start; go on with: rollout continue ${shellWord(directory)}\n`,
    );
  } else {
    rmSync(pause, { force: true });
    terminal.out("continued\n");
  }
  return exitCodes.done;
}
