import type { Run } from "../../store/run.ts";
import { readPlan } from "../output/plan-experiment.ts";
import { ExperimentIndex } from "./experiment-index.ts";

interface CachedIndex {
  readonly createdAt: number;
  readonly index: ExperimentIndex;
}

// An index of 100,000 runs takes about 60 MB.
const maxIndexes = 8;

/** Keeps the indexes of the experiments that were read last. */
export class IndexCache {
  // By directory, in the order of their last use.
  readonly #indexes = new Map<string, CachedIndex>();

  /** Returns the index of a directory. A directory that holds another experiment than before gets a new one. */
  get(directory: string, run: Run): ExperimentIndex {
    const known = this.#indexes.get(directory);
    const { createdAt } = run;
    const isSame = known?.createdAt === createdAt;
    const cached = isSame ? known : { createdAt, index: new ExperimentIndex(directory, readPlan(run)) };
    this.#indexes.delete(directory);
    this.#indexes.set(directory, cached);
    const [oldest] = this.#indexes.keys();
    if (this.#indexes.size > maxIndexes && oldest !== undefined) this.#indexes.delete(oldest);
    return cached.index;
  }
}
