import { resolve } from "node:path";
import { readJob } from "../../jobs/output/read-job.ts";
import { countText, groupDigits } from "../../report/number-text.ts";
import type { Run, RunKind } from "../../store/run.ts";
import type { CliContext } from "../cli-context.ts";
import { isDirectoryGone } from "../commands/list.ts";

const nouns: Readonly<Record<RunKind, string>> = { job: "job", dataset: "run", experiment: "experiment" };

/** Returns a sentence about a run that is running or whose process died; null for one that ended. */
export async function describeState(run: Run, { host }: CliContext): Promise<string | null> {
  const { owner, status, counts, plan, shape } = run;
  const noun = nouns[run.kind];
  const finished = `${groupDigits(counts.finished)} of ${countText(plan.total, shape.unitNoun)} finished.`;
  if (owner !== null) {
    const where = owner.hostname === host.hostname ? "" : ` on ${owner.hostname}`;
    return `This ${noun} is ${status}: process ${owner.pid}${where}. ${finished}`;
  }
  if (status !== "interrupted") return null;
  if (run.kind !== "job" || isDirectoryGone(run, host.cwd))
    return `This ${noun} did not end: its process is gone. ${finished}`;
  const { pid, hostname } = (await readJob(resolve(host.cwd, run.location))).started;
  const where = hostname === host.hostname ? "" : ` on ${hostname}`;
  return `This job did not end: its process ${pid}${where} is gone. ${finished} \`rollout clean\` and the next job remove the environments that it left running.`;
}
