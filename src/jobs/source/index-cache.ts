import type { Run } from "../../store/run.ts";
import { JobIndex } from "./job-index.ts";
import { runOfJournal } from "./run-of-journal.ts";

interface CachedRun {
  readonly state: JobIndex["state"];
  readonly version: number;
  readonly run: Run;
}

// An index of 10,000 trials takes about 10 MB.
const maxIndexes = 8;

/** Keeps the indexes of the jobs that were read last. */
export class IndexCache {
  readonly #locationOf: (dir: string) => string;
  // By directory, in the order of their last use.
  readonly #indexes = new Map<string, JobIndex>();
  readonly #runs = new WeakMap<JobIndex, CachedRun>();

  constructor(locationOf: (dir: string) => string) {
    this.#locationOf = locationOf;
  }

  /** Returns the index of a directory. */
  get(dir: string): JobIndex {
    const index = this.#indexes.get(dir) ?? new JobIndex(dir);
    this.#indexes.delete(dir);
    this.#indexes.set(dir, index);
    const [oldest] = this.#indexes.keys();
    if (this.#indexes.size > maxIndexes && oldest !== undefined) this.#indexes.delete(oldest);
    return index;
  }

  /** Returns the run of an index, as `runOfJournal` does; null if it holds no job. It is made again only after a change. */
  runOf(index: JobIndex): Run | null {
    const { state, paths } = index;
    const known = this.#runs.get(index);
    if (known?.state === state && known.version === state.version) return known.run;
    if (state.started === null) return null;
    const run = runOfJournal(state, state.started, this.#locationOf(paths.dir));
    this.#runs.set(index, { state, version: state.version, run });
    return run;
  }
}
