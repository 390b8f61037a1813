import { readAll } from "../../store/read-all.ts";
import type { RunRecord } from "../../store/run-store.ts";
import type { Store } from "../../store/store.ts";

/** What the runs of a file came to when it was run before. */
export interface EarlierSession {
  /** The newest unfinished run of each name. */
  readonly unfinished: ReadonlyMap<string, RunRecord>;
  /** Names whose run of the same session is finished: there is nothing left to do for them. */
  readonly finished: ReadonlySet<string>;
}

/** Looks for unfinished runs of these names, and for what was finished along with the newest of them. */
export async function findUnfinished(store: Store, names: readonly string[]): Promise<EarlierSession> {
  const runs = await listRuns(store, names);
  const unfinished = new Map<string, RunRecord>();
  for (const run of runs) if (!run.isFinished && !unfinished.has(run.name)) unfinished.set(run.name, run);
  const newest = runs.find((run) => !run.isFinished);
  const session = newest?.metadata["session"];
  const along = runs.filter((run) => run.isFinished && session !== undefined && run.metadata["session"] === session);
  return { unfinished, finished: new Set(along.map(({ name }) => name)) };
}

/** Newest first. */
async function listRuns({ runs }: Store, names: readonly string[]): Promise<RunRecord[]> {
  const all = await readAll<RunRecord, string>((after) => runs.list({ kind: "dataset" }, { after, limit: 200 }));
  return all.filter(({ name }) => names.includes(name));
}
