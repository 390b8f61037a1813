import type { Anything } from "../base/anything.ts";
import type { JsonObject } from "../base/json.ts";
import type { NewItem } from "../store/dataset-store.ts";
import type { Store } from "../store/store.ts";
import type { EventListener } from "../store/run-events.ts";
import type { ScorerFunction } from "./scorers/resolve-scorers.ts";
import type { DatasetScorer, Scorer } from "../scoring/scorer.ts";
import type { ItemWithScores } from "./summary.ts";
import type { Registry } from "./targets/registry.ts";
import type { Target } from "./targets/target.ts";

/** An item as it is given in code; any JSON value, and an id unless one is to be made. */
export type DataItem = NewItem;

type DataSource<Item> = Iterable<Item> | AsyncIterable<Item>;

/** What a function is called with: the inputs of `data`; anything when they are not known, as those of a stored dataset. */
export type InputOf<Item extends DataItem> = DataItem extends Item ? Anything : Item["input"];

/** What to run on what, and how. */
export interface RunConfig<Item extends DataItem = DataItem> {
  /** For people; the target's and the dataset's names when absent. */
  readonly name?: string | undefined;
  /** Where the dataset is, and where the run and its results go. Without one nothing is stored. */
  readonly storage?: Store | undefined;
  /** A dataset of the store, by id or name. */
  readonly datasetId?: string | undefined;
  /** Of the dataset; the newest when absent. */
  readonly version?: number | undefined;
  /** Items given in code instead of a dataset: a list, something to iterate over, or a function that gives either. */
  readonly data?: DataSource<Item> | (() => DataSource<Item> | Promise<DataSource<Item>>) | undefined;
  /** Only the first so many items. */
  readonly limit?: number | undefined;
  /** Only so many items, chosen by chance but always the same for one `seed`. */
  readonly sample?: number | undefined;
  readonly seed?: number | undefined;

  /** An agent, a workflow, a scorer or a function. */
  readonly target?: Target<InputOf<Item>> | undefined;
  /** What the target is, when that is not plain, and where `targetId` is looked for. */
  readonly targetType?: string | undefined;
  readonly targetId?: string | undefined;
  /** Where registered ids of targets and scorers are found. */
  readonly registry?: Registry | undefined;
  /** Instances, functions and registered ids. Even an empty list wins over the scorers of items and dataset. */
  readonly scorers?: readonly (Scorer | DatasetScorer | ScorerFunction | string)[] | undefined;
  /** An item passes with at least this score of the first scorer; 1 when absent. */
  readonly passAt?: number | undefined;
  /** Also asks scorers about items that failed, with null for an output. */
  readonly scoreFailed?: boolean | undefined;

  /** Items at once; 5 when absent. */
  readonly maxConcurrency?: number | undefined;
  /** Milliseconds for one item with all its tries, waits and scorers; without end when absent. */
  readonly itemTimeout?: number | undefined;
  /** Tries after the first one, for errors that may pass; 0 when absent. */
  readonly maxRetries?: number | undefined;
  /** Milliseconds before the first retry, doubled for each one after; 1000 when absent. */
  readonly retryDelay?: number | undefined;
  /** How often each item runs; 1 when absent. */
  readonly repeats?: number | undefined;
  /** Keeps results in memory for the summary; true when absent. */
  readonly retainResults?: boolean | undefined;

  /** Ends the run early: what runs is told to stop, and what was done is in the summary. */
  readonly signal?: AbortSignal | undefined;
  /** The id of the run. That of an unfinished run takes it up again. */
  readonly runId?: string | undefined;
  /** Shown in lists of runs. */
  readonly description?: string | undefined;
  /** For filtering lists of runs: `{ branch: "main" }`. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Kept with the run. */
  readonly metadata?: JsonObject | undefined;
  /** Told of every item when it is done and stored; awaited, and harmless when it throws. */
  readonly onItemComplete?: ((result: ItemWithScores, index: number) => unknown) | undefined;
  /** Receives events in order, one at a time. The run waits for it. An error it throws becomes a warning of the run. */
  readonly onEvent?: EventListener | undefined;
}

/** A config that names its target, itself or by its id. */
export type CompleteRunConfig<Item extends DataItem = DataItem> = RunConfig<Item> &
  ({ readonly target: Target<InputOf<Item>> } | { readonly targetType: string; readonly targetId: string });
