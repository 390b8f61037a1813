import { plainJson } from "../../base/plain-json.ts";
import { plainText } from "../../base/terminal-text.ts";
import { resumeCommand } from "../../jobs/describe-run.ts";
import type { Difference } from "../../jobs/output/comparison.ts";
import { readJob } from "../../jobs/output/read-job.ts";
import { verifyJob } from "../../jobs/output/verify-job.ts";
import { countText } from "../../report/number-text.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodes } from "../exit-codes.ts";
import { isJobAlive } from "../job-life.ts";
import { locateJobDirectory } from "../runs/locate-job.ts";

/** `rollout verify`: recomputes what a job recorded; 1 when something is recorded otherwise. */
export async function verifyCommand(
  word: string,
  options: { readonly json?: boolean },
  context: CliContext,
): Promise<number> {
  const { host, terminal } = context;
  const dir = await locateJobDirectory(word, context);
  const { hasEnded, trials, compared, differences } = await verifyJob(dir);
  const bringsUp = async (): Promise<string> => {
    const job = await readJob(dir);
    // A command that would be refused is no help.
    return isJobAlive(job, host)
      ? `process ${job.started.pid} on ${job.started.hostname} brings it up to date`
      : `${resumeCommand(dir, host.cwd)} brings it up to date`;
  };
  if (options.json) {
    const found = { has_ended: hasEnded, trials, compared, differences };
    terminal.out(`${plainJson({ schema_version: 1, job_dir: dir, ...found }, 2)}\n`);
  } else {
    if (!hasEnded)
      terminal.out(`this job has not ended, so that what is recorded may be behind; ${await bringsUp()}\n`);
    for (const line of describeAll(differences, hasEnded)) terminal.out(`${line}\n`);
    const what = `${countText(trials, "trial")}, ${countText(compared, "value")}`;
    terminal.out(
      differences.length === 0
        ? `everything is as its trials say: ${what}\n`
        : `${countText(differences.length, "difference")} in ${what}\n`,
    );
  }
  return differences.length === 0 ? exitCodes.done : exitCodes.gate;
}

const longestValue = 200;

// Totals that a process had no time to write are one thing, however many they are.
function describeAll(differences: readonly Difference[], hasEnded: boolean): string[] {
  const isBehind = ({ file }: Difference): boolean => !hasEnded && file === "result.json";
  const behind = differences.filter(isBehind);
  return [
    ...differences.filter((difference) => !isBehind(difference)).map(describe),
    ...(behind.length > 1
      ? [`result.json: ${behind.length} values are not what the trials say so far`]
      : behind.map(describe)),
  ];
}

function describe({ file, field, recorded, recomputed }: Difference): string {
  const text = (value: unknown): string =>
    (value === undefined ? "nothing" : JSON.stringify(value)).slice(0, longestValue);
  return plainText(
    `${file}${field === "" ? "" : ` ${field}`}: recorded ${text(recorded)}, recomputed ${text(recomputed)}`,
  );
}
