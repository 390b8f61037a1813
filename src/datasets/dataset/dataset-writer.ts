import { setImmediate } from "node:timers/promises";
import type {
  DatasetRecord,
  DatasetTraits,
  DatasetVersion,
  DatasetWrite,
  NewItem,
  WriteWish,
} from "../../store/dataset-store.ts";
import type { Store } from "../../store/store.ts";
import { compileItemCheck, type ItemCheck } from "./check-schema.ts";
import { ProblemList } from "../../base/problem-list.ts";

/** Where an item came from, to be told with its problems. */
export interface ItemPlace {
  readonly file: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
  /** Before the path inside the item: `[3]`. */
  readonly prefix?: string | undefined;
}

const itemsAtOnce = 500;

/** Takes items one by one, checks them against the dataset's schemas and stages them; constant memory. */
export class DatasetWriter implements AsyncDisposable {
  readonly problems = new ProblemList();
  readonly #write: DatasetWrite;
  readonly #check: ItemCheck;
  readonly #signal: AbortSignal;
  #batch: NewItem[] = [];
  #count = 0;

  constructor(write: DatasetWrite, check: ItemCheck, signal: AbortSignal) {
    this.#write = write;
    this.#check = check;
    this.#signal = signal;
  }

  /** How many items it took. */
  get count(): number {
    return this.#count;
  }

  async add(item: NewItem, place: ItemPlace): Promise<void> {
    this.#count++;
    for (const { path, message } of this.#check(item)) {
      const { prefix = "", ...at } = place;
      this.problems.add({ ...at, path: prefix === "" ? path : `${prefix}.${path}`, message });
    }
    // With a problem nothing will be committed; the rest is only looked at.
    if (this.problems.isEmpty) this.#batch.push(item);
    if (this.#batch.length >= itemsAtOnce) await this.#flush();
  }

  /** Makes one version of it all, or throws every problem. */
  async commit(what: string): Promise<DatasetVersion> {
    this.problems.check(what);
    await this.#flush();
    return this.#write.commit();
  }

  async remove(itemIds: readonly string[]): Promise<void> {
    await this.#write.remove(itemIds);
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#write[Symbol.asyncDispose]();
  }

  async #flush(): Promise<void> {
    this.#signal.throwIfAborted();
    const items = this.#batch;
    this.#batch = [];
    await this.#write.put(items);
    await setImmediate();
  }
}

/** Opens a writer to a dataset, or to one that its commit makes; disposed without a commit it leaves no trace. */
export async function openDatasetWriter(
  store: Store,
  dataset: DatasetRecord | DatasetTraits,
  wish: Omit<WriteWish, "datasetId">,
  signal: AbortSignal,
): Promise<DatasetWriter> {
  const check = await compileItemCheck(dataset);
  return new DatasetWriter(
    await store.datasets.openWrite({ datasetId: "id" in dataset ? dataset.id : dataset, ...wish }),
    check,
    signal,
  );
}
