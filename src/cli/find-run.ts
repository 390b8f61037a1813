import { RolloutError } from "../base/rollout-error.ts";
import { readAll } from "../store/read-all.ts";
import type { RunRecord } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";

const shortestBeginning = 4;
const mostTold = 5;

/** The run that a person means by its id, by the beginning of its id, or by its name, of which the newest counts. */
export async function findRun(store: Store, word: string): Promise<RunRecord> {
  const found = await store.runs.find(word);
  if (found !== null) return found;
  const runs = await readAll<RunRecord, string>((after) => store.runs.list({}, { after, limit: 200 }));
  const named = runs.find(({ name }) => name === word);
  if (named !== undefined) return named;
  const begun = word.length < shortestBeginning ? [] : runs.filter(({ id }) => id.startsWith(word));
  const [only] = begun;
  if (begun.length === 1 && only !== undefined) return only;
  if (begun.length > 1)
    throw new RolloutError(
      "usage_invalid",
      `${begun.length} runs of ${store.location} have an id that begins so: ${word}`,
      {
        hint: `give more of it: ${describe(begun)}`,
      },
    );
  throw new RolloutError("not_found", `no run "${word}" in ${store.location}, by id or by name`, {
    hint: runs.length === 0 ? "the store holds no run yet" : `its newest runs: ${describe(runs)}`,
  });
}

function describe(runs: readonly RunRecord[]): string {
  return runs
    .slice(0, mostTold)
    .map(({ id, name }) => (name === id ? id : `${id} (${name})`))
    .join(", ");
}
