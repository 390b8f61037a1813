import { readFile } from "node:fs/promises";
import { Comparison, type Difference } from "../output/comparison.ts";
import { jobPaths } from "../output/job-paths.ts";
import { readJob } from "../output/read-job.ts";

const mostTrials = 5;
const longestValue = 60;

/** A warning for each trial whose files no longer say what was recorded of it, by key; past a few only how many. */
export function describeEdits(edits: ReadonlyMap<string, readonly Difference[]>): string[] {
  const found = [...edits].filter(([, differences]) => differences.length > 0);
  const more = found.length - mostTrials;
  return [
    ...found
      .slice(0, mostTrials)
      .map(
        ([key, differences]) =>
          `${key}: its files were changed after it ended (${tell(differences)}); what was recorded then counts`,
      ),
    ...(more > 0 ? [`files of ${more} more trials were changed after they ended; \`rollout verify\` names each`] : []),
  ];
}

/** A warning when the job's result.json does not say what its trials were recorded with; empty when it does. */
export async function describeResultEdits(dir: string): Promise<string[]> {
  const comparison = new Comparison();
  const { result } = await readJob(dir);
  const text = await readFile(jobPaths(dir).result, "utf8").catch(() => "null");
  comparison.compare("result.json", "", parse(text), JSON.parse(JSON.stringify(result)));
  const { differences } = comparison;
  return differences.length > 0
    ? [`the job's result.json was changed after the job ended (${tell(differences)}); its trials say otherwise`]
    : [];
}

function tell([first, ...others]: readonly Difference[]): string {
  if (first === undefined) return "";
  const what = `${first.field === "" ? "all of it" : first.field}: ${text(first.recorded)}, not ${text(first.recomputed)}`;
  return others.length > 0 ? `${what}, and ${others.length} more` : what;
}

function text(value: unknown): string {
  return (value === undefined ? "nothing" : JSON.stringify(value)).slice(0, longestValue);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}
