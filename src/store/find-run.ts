import { RolloutError } from "../base/rollout-error.ts";
import type { Run } from "./run.ts";
import type { RunSource } from "./run-source.ts";

const minPrefixLength = 4;
const maxListed = 5;
const pageSize = 200;

/**
 * Finds the run that a person names: its id, the first four or more characters of it, `NAME` for the newest of that name,
 * `NAME~1` for the one before. Without a word it is the newest run.
 */
export async function findRun(source: RunSource, word: string | undefined): Promise<Run> {
  if (word === undefined) return await newestRun(source);
  const known = await source.get(word);
  if (known !== null) return known;
  const [, name = word, back] = /^(.+)~(\d+)$/.exec(word) ?? [];
  const named: Run[] = [];
  const prefixed: Run[] = [];
  const newest: Run[] = [];
  for await (const run of listRuns(source)) {
    if (newest.length < maxListed) newest.push(run);
    if (run.name === word) return run;
    if (run.name === name) named.push(run);
    if (word.length >= minPrefixLength && run.id.startsWith(word)) prefixed.push(run);
    if (back !== undefined && named.length > Number(back)) break;
  }
  if (back !== undefined && named.length > 0) {
    const earlier = named[Number(back)];
    if (earlier !== undefined) return earlier;
    throw new RolloutError(
      "not_found",
      named.length === 1
        ? `there is only 1 run named "${name}"`
        : `there are only ${named.length} runs named "${name}"`,
    );
  }
  const [only] = prefixed;
  if (only !== undefined && prefixed.length === 1) return only;
  if (prefixed.length > 1)
    throw new RolloutError("usage_invalid", `${prefixed.length} runs have an id that starts with ${word}`, {
      hint: `type more of it: ${describe(prefixed)}`,
    });
  throw new RolloutError("not_found", `there is no run "${word}"`, {
    hint:
      newest.length === 0
        ? "no runs were found; `rollout list` shows where it looks"
        : `newest runs: ${describe(newest)}`,
  });
}

async function newestRun(source: RunSource): Promise<Run> {
  const { entries } = await source.list({}, { after: null, limit: 1 });
  const [newest] = entries;
  if (newest === undefined)
    throw new RolloutError("not_found", "there are no runs", { hint: "start one: rollout job.yaml" });
  return newest;
}

/** Yields every run of a source, newest first. */
export async function* listRuns(
  source: RunSource,
  filter: Parameters<RunSource["list"]>[0] = {},
): AsyncGenerator<Run, void> {
  for (let after: string | null = null; ;) {
    const page: Awaited<ReturnType<RunSource["list"]>> = await source.list(filter, { after, limit: pageSize });
    yield* page.entries;
    if (page.next === null) return;
    after = page.next;
  }
}

function describe(runs: readonly Run[]): string {
  const texts = runs.slice(0, maxListed).map(({ id, name }) => (name === id ? id : `${id} (${name})`));
  return texts.join(", ");
}
