import { rmSync, writeFileSync } from "node:fs";
import { RolloutError } from "../../base/rollout-error.ts";
import { shellWord } from "../../base/shown-path.ts";
import { jobPaths } from "../../jobs/output/job-paths.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { isJobAlive } from "../job-life.ts";
import { readNamedJob } from "../runs/locate-job.ts";
import { nextOfJob } from "../next-of-job.ts";

/** `rollout pause` and `rollout continue`: ask the process of a job to start no new trials, or to start them again. */
export async function holdCommand(word: string, request: "pause" | "continue", context: CliContext): Promise<number> {
  const { host, terminal } = context;
  const job = await readNamedJob(word, context);
  if (job.hasEnded || !isJobAlive(job, host)) {
    const { command } = await nextOfJob(job, host.cwd);
    const why = job.hasEnded ? "only a running job can be paused" : "its process is gone";
    throw new RolloutError("not_found", `${word} is not running`, {
      hint: command === null ? why : `${why}; resume it with: ${command}`,
    });
  }
  const { pause } = jobPaths(job.dir);
  if (request === "pause") {
    writeFileSync(pause, "");
    terminal.out(
      `paused: running trials finish, no new ones start; continue with: rollout continue ${shellWord(word)}\n`,
    );
  } else {
    rmSync(pause, { force: true });
    terminal.out("continued\n");
  }
  return exitCodes.done;
}
