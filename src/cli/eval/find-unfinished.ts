import type { JsonObject } from "../../base/json.ts";
import { listRuns } from "../../store/find-run.ts";
import type { Run } from "../../store/run.ts";
import type { Store } from "../../store/store.ts";

/** What earlier runs of a file left. */
export interface EarlierRuns {
  /** The newest unfinished run of each name. */
  readonly unfinished: ReadonlyMap<string, Run>;
  /** Names whose run of the same session is finished: nothing is left to do for them. */
  readonly finished: ReadonlySet<string>;
}

/** Finds unfinished runs of these names, and the runs that finished in the session of the newest of them. */
export async function findUnfinished({ runs }: Store, names: readonly string[]): Promise<EarlierRuns> {
  const all: Run[] = [];
  for await (const run of listRuns(runs, { kind: "dataset" })) if (names.includes(run.name)) all.push(run);
  const unfinished = new Map<string, Run>();
  for (const run of all) if (run.isResumable && !unfinished.has(run.name)) unfinished.set(run.name, run);
  const session = sessionOf(all.find((run) => run.isResumable));
  const along = all.filter((run) => !run.isResumable && session !== undefined && sessionOf(run) === session);
  return { unfinished, finished: new Set(along.map(({ name }) => name)) };
}

/** Returns the id that the runs of one command share. */
export function sessionOf(run: Run | undefined): string | undefined {
  const { session } = (run?.details["metadata"] ?? {}) as JsonObject;
  return typeof session === "string" ? session : undefined;
}
