import { RolloutError } from "../../base/rollout-error.ts";
import type { DatasetItem, DatasetRecord } from "../../store/dataset-store.ts";
import type { Store } from "../../store/store.ts";
import type { DataItem, RunConfig } from "../run-config.ts";
import { findDataset } from "../dataset/find-dataset.ts";
import { collectData } from "./collect-data.ts";
import { drawPlaces } from "./draw-places.ts";

/** Where a run's items come from, a page at a time. */
export interface ItemSource {
  /** Null for items that were given in code. */
  readonly dataset: DatasetRecord | null;
  readonly version: number | null;
  /** Items that were selected. */
  readonly total: number;
  /** Selected items in order, each time from the first one. */
  pages(): AsyncIterable<readonly DatasetItem[]>;
}

// Reading and parsing more at once would hold the event loop, and more would outlive a collection of new objects.
const pageSize = 100;

/** What people call the items of a run: a dataset with its version, or `data` for those given in code. */
export function datasetName({ dataset, version }: Pick<ItemSource, "dataset" | "version">): string {
  return dataset === null ? "data" : `${dataset.name}@${version ?? dataset.version}`;
}

/** Finds the items of a run; throws when there is no such dataset or version, or nothing in it. */
export async function openItems(config: RunConfig): Promise<ItemSource> {
  const { data, datasetId, storage } = config;
  const source =
    datasetId !== undefined && storage !== undefined
      ? await openStored(storage, datasetId, config.version)
      : readGiven(await collectData(data));
  if (source.total === 0) {
    const what =
      source.dataset === null ? "`data`" : `version ${source.version ?? 0} of dataset "${source.dataset.name}"`;
    throw new RolloutError("config_invalid", `${what} has no items`, { hint: "a run needs at least one" });
  }
  return select(source, config);
}

async function openStored(store: Store, idOrName: string, wished: number | undefined): Promise<ItemSource> {
  const dataset = await findDataset(store, idOrName);
  const version = wished ?? dataset.version;
  const total = version === 0 ? 0 : (await store.datasets.version(dataset.id, version))?.itemCount;
  if (total === undefined)
    throw new RolloutError("not_found", `dataset "${dataset.name}" has no version ${version}`, {
      hint: `its newest is ${dataset.version}`,
    });
  return {
    dataset,
    version,
    total,
    async *pages() {
      for (let after: number | null = null; ;) {
        const { entries, next } = await store.datasets.items(dataset.id, version, { after, limit: pageSize });
        if (entries.length > 0) yield entries;
        if (next === null) return;
        after = next;
      }
    },
  };
}

function readGiven(data: readonly DataItem[]): ItemSource {
  const items = data.map((item, place): DatasetItem => ({ ...item, id: item.id ?? String(place + 1), version: 0 }));
  return {
    dataset: null,
    version: null,
    total: items.length,
    async *pages() {
      yield items;
    },
  };
}

function select(source: ItemSource, { limit, sample, seed }: RunConfig): ItemSource {
  if (limit !== undefined) {
    const total = Math.min(limit, source.total);
    return { ...source, total, pages: () => firstOf(source.pages(), total) };
  }
  if (sample === undefined) return source;
  const places = drawPlaces(source.total, sample, seed ?? 0);
  return { ...source, total: places.length, pages: () => drawnOf(source.pages(), places) };
}

async function* firstOf(
  pages: AsyncIterable<readonly DatasetItem[]>,
  total: number,
): AsyncIterable<readonly DatasetItem[]> {
  let left = total;
  for await (const page of pages) {
    yield page.slice(0, left);
    left -= page.length;
    if (left <= 0) return;
  }
}

async function* drawnOf(
  pages: AsyncIterable<readonly DatasetItem[]>,
  places: readonly number[],
): AsyncIterable<readonly DatasetItem[]> {
  let before = 0;
  let at = 0;
  for await (const page of pages) {
    const drawn: DatasetItem[] = [];
    for (; at < places.length && (places[at] ?? 0) < before + page.length; at++) {
      const item = page[(places[at] ?? 0) - before];
      if (item !== undefined) drawn.push(item);
    }
    if (drawn.length > 0) yield drawn;
    if (at >= places.length) return;
    before += page.length;
  }
}
