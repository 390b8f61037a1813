import type { DatasetItem, DatasetRecord, ItemChange } from "../../store/dataset-store.ts";
import type { Page, Store } from "../../store/store.ts";
import { findDataset } from "./find-dataset.ts";

const pageSize = 200;

export interface ReadItemsRequest {
  readonly store: Store;
  /** Id or name. */
  readonly dataset: string;
  /** The newest when absent. */
  readonly version?: number | undefined;
  readonly signal: AbortSignal;
}

/** The items of a version one by one, in their order; a version stays the same whatever is written meanwhile. */
export async function* readItems(request: ReadItemsRequest): AsyncGenerator<DatasetItem, void> {
  const { store, signal } = request;
  const dataset = await findDataset(store, request.dataset);
  const version = request.version ?? dataset.version;
  yield* readPages((after) => store.datasets.items(dataset.id, version, { after, limit: pageSize }), signal);
}

export interface DiffVersionsRequest {
  readonly store: Store;
  /** Id or name. */
  readonly dataset: string;
  /** The version before `to` when absent. */
  readonly from?: number | undefined;
  /** The newest when absent. */
  readonly to?: number | undefined;
  readonly signal: AbortSignal;
}

/** The items that differ between two versions, one by one. */
export async function* diffVersions(request: DiffVersionsRequest): AsyncGenerator<ItemChange, void> {
  const { store, signal } = request;
  const dataset = await findDataset(store, request.dataset);
  const { from, to } = chooseVersions(dataset, request);
  yield* readPages((after) => store.datasets.diff(dataset.id, from, to, { after, limit: pageSize }), signal);
}

/** The two versions that a difference is about. */
export function chooseVersions(
  { version }: DatasetRecord,
  wish: Pick<DiffVersionsRequest, "from" | "to">,
): { from: number; to: number } {
  const to = wish.to ?? version;
  return { from: wish.from ?? Math.max(0, to - 1), to };
}

async function* readPages<Entry>(
  read: (after: number | null) => Promise<Page<Entry>>,
  signal: AbortSignal,
): AsyncGenerator<Entry, void> {
  for (let after: number | null = null; ;) {
    signal.throwIfAborted();
    const page = await read(after);
    yield* page.entries;
    if (page.next === null) return;
    after = page.next;
  }
}
