import { decodeCursor, encodeCursor, invalidPositionError } from "./cursor.ts";
import { compareRuns, type RunPosition } from "./page-runs.ts";
import type { Run } from "./run.ts";
import type { FollowedEvent, RunFilter, RunSource } from "./run-source.ts";
import type { Page, PageRequest } from "./store.ts";
import { checkLimit, unknownError } from "./store-error.ts";

/** Reads several sources as one. A run that is in several of them is read from the first. */
export function joinSources(sources: readonly RunSource[]): RunSource {
  const find = async (runId: string): Promise<RunSource> => {
    for (const source of sources) if ((await source.get(runId)) !== null) return source;
    throw unknownError("run", runId);
  };
  return {
    list: (filter, page) => listJoined(sources, filter, page),
    async get(runId) {
      for (const source of sources) {
        const run = await source.get(runId);
        if (run !== null) return run;
      }
      return null;
    },
    rows: async (runId, query) => (await find(runId)).rows(runId, query),
    units: async (runId, query) => (await find(runId)).units(runId, query),
    unit: async (runId, key) => (await find(runId)).unit(runId, key),
    artifacts: async (runId, key) => (await find(runId)).artifacts(runId, key),
    artifact: async (runId, key, name, range) => (await find(runId)).artifact(runId, key, name, range),
    async *follow(runId, cursor, signal): AsyncGenerator<FollowedEvent> {
      yield* (await find(runId)).follow(runId, cursor, signal);
    },
  };
}

async function listJoined(
  sources: readonly RunSource[],
  filter: RunFilter,
  { after, limit }: PageRequest<string>,
): Promise<Page<Run, string>> {
  checkLimit(limit);
  const { last: lastListed, positions } = parsePosition(after, sources.length);
  const queues = sources.map((source, at) => new RunQueue(source, filter, positions[at] ?? null, limit));
  let last = lastListed;
  const entries: Run[] = [];
  for (;;) {
    const heads = await Promise.all(queues.map((queue) => queue.head()));
    const at = newestOf(heads);
    const run = heads[at];
    if (!run) return { entries, next: null };
    if (entries.length === limit && last !== null) {
      const next = await Promise.all(queues.map((queue) => queue.position()));
      return { entries, next: encodeCursor([last.createdAt, last.id, ...next]) };
    }
    queues[at]?.take();
    // Created after the page before was listed.
    if (last !== null && compareRuns(last, run) >= 0) continue;
    last = run;
    if (!(await isInAny(sources.slice(0, at), run.id))) entries.push(run);
  }
}

// A position in front of the first run is null, one behind the last run is empty.
const endOfSource = "";

/** The runs of one source that are not listed yet. */
class RunQueue {
  readonly #source: RunSource;
  readonly #filter: RunFilter;
  readonly #limit: number;
  /** Where the page below starts. */
  #after: string | null;
  #page: Page<Run, string> | null = null;
  #taken = 0;

  constructor(source: RunSource, filter: RunFilter, after: string | null, limit: number) {
    this.#source = source;
    this.#filter = filter;
    this.#limit = limit;
    this.#after = after;
  }

  /** Returns the next run; null at the end. */
  async head(): Promise<Run | null> {
    for (;;) {
      if (this.#after === endOfSource) return null;
      this.#page ??= await this.#read(this.#limit);
      const run = this.#page.entries[this.#taken];
      if (run !== undefined) return run;
      this.#after = this.#page.next ?? endOfSource;
      this.#page = null;
      this.#taken = 0;
    }
  }

  take(): void {
    this.#taken++;
  }

  /** Returns where to continue. Only the source knows the position inside a page, so it is asked for a shorter page. */
  async position(): Promise<string | null> {
    if (this.#after === endOfSource || this.#taken === 0) return this.#after;
    return (await this.#read(this.#taken)).next ?? endOfSource;
  }

  #read(limit: number): Promise<Page<Run, string>> {
    return this.#source.list(this.#filter, { after: this.#after, limit });
  }
}

function newestOf(heads: readonly (Run | null)[]): number {
  let newest = -1;
  for (const [at, run] of heads.entries()) {
    const best = heads[newest];
    if (run !== null && (!best || compareRuns(run, best) < 0)) newest = at;
  }
  return newest;
}

async function isInAny(sources: readonly RunSource[], runId: string): Promise<boolean> {
  for (const source of sources) if ((await source.get(runId)) !== null) return true;
  return false;
}

interface JoinedPosition {
  /** The last run that was listed. */
  readonly last: RunPosition | null;
  readonly positions: readonly (string | null)[];
}

function parsePosition(after: string | null, sourceCount: number): JoinedPosition {
  if (after === null) return { last: null, positions: [] };
  const [createdAt, id, ...parts] = decodeCursor(after, 2 + sourceCount) ?? [];
  const positions = parts.filter((part) => typeof part !== "number");
  if (typeof createdAt !== "number" || typeof id !== "string" || positions.length !== sourceCount)
    throw invalidPositionError(after);
  return { last: { createdAt, id }, positions };
}
