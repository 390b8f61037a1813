import type { Json, JsonObject } from "../base/json.ts";
import type { Page, PageRequest } from "./store.ts";

/** One input of a dataset as it stands at some version. */
export interface DatasetItem {
  /** Its owner's name for it, or one that was made for it; it stays the same through every version. */
  readonly id: string;
  readonly input: Json;
  readonly expectedOutput?: Json | undefined;
  readonly metadata?: JsonObject | undefined;
  /** Scorers that mark this item instead of the dataset's. */
  readonly scorerIds?: readonly string[] | undefined;
  /** The version of the dataset that brought it in its present form. */
  readonly version: number;
}

/** An item as it is put; without an id it is a new one. */
export type NewItem = Omit<DatasetItem, "id" | "version"> & { readonly id?: string | undefined };

/** What can be said of a dataset beside its items; changing it makes no version. */
export interface DatasetTraits {
  /** Unique in the store. */
  readonly name: string;
  readonly description: string | null;
  readonly metadata: JsonObject;
  /** JSON Schema that every input keeps to. */
  readonly inputSchema: JsonObject | null;
  readonly expectedOutputSchema: JsonObject | null;
  /** Scorers that mark its items unless a run says otherwise. */
  readonly scorerIds: readonly string[] | null;
}

export interface DatasetRecord extends DatasetTraits {
  readonly id: string;
  /** The newest version; 0 has no items. */
  readonly version: number;
  /** Of the newest version. */
  readonly itemCount: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What one write made of a dataset. */
export interface DatasetVersion {
  readonly version: number;
  readonly createdAt: number;
  readonly note: string | null;
  readonly itemCount: number;
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

/** An item as it stood from one version until another; `until` is null for one that still stands. */
export interface ItemEdition {
  readonly item: DatasetItem;
  readonly until: number | null;
}

/** How an item differs between two versions: `before` is null for one that was added, `after` for one that was removed. */
export interface ItemChange {
  readonly id: string;
  readonly before: DatasetItem | null;
  readonly after: DatasetItem | null;
}

export interface WriteWish {
  /** The id of a dataset; or what is to be said of a new one that is there once the write is committed, and not before. */
  readonly datasetId: string | DatasetTraits;
  /** `replace` removes every item that is not put again. */
  readonly mode: "merge" | "replace";
  readonly note: string | null;
}

/**
 * A change to a dataset that nobody sees before it is committed; disposed without that it leaves no trace.
 * Of two that are open at once both are kept, the later commit on top of the earlier one.
 */
export interface DatasetWrite extends AsyncDisposable {
  /** An item with a known id replaces that one and keeps its place; of two with one id in a write the last one counts. */
  put(items: readonly NewItem[]): Promise<void>;
  /** Ids that are not there are passed over. */
  remove(itemIds: readonly string[]): Promise<void>;
  /** Makes one version of it all; when nothing differs, the newest version stays as it is and is returned. */
  commit(): Promise<DatasetVersion>;
}

/** Versioned datasets. Unknown ids and versions reject with `not_found`, taken names with `already_exists`. */
export interface DatasetStore {
  create(traits: DatasetTraits): Promise<DatasetRecord>;
  /** By id or by name. */
  find(idOrName: string): Promise<DatasetRecord | null>;
  /** By name. */
  list(wish: PageRequest<string>): Promise<Page<DatasetRecord, string>>;
  update(datasetId: string, traits: Partial<DatasetTraits>): Promise<DatasetRecord>;
  /** With all its versions; runs on it stay, and keep what they ran on. */
  remove(datasetId: string): Promise<void>;
  /** A name for a new dataset that somebody else took before the commit is no error: the write goes into that one. */
  openWrite(wish: WriteWish): Promise<DatasetWrite>;
  /** Newest first: `after` is the last version seen. */
  versions(datasetId: string, wish: PageRequest): Promise<Page<DatasetVersion>>;
  version(datasetId: string, version: number): Promise<DatasetVersion | null>;
  /** In the order in which items came in first. */
  items(datasetId: string, version: number, wish: PageRequest): Promise<Page<DatasetItem>>;
  item(datasetId: string, version: number, itemId: string): Promise<DatasetItem | null>;
  /** Newest first. */
  history(datasetId: string, itemId: string): Promise<readonly ItemEdition[]>;
  diff(datasetId: string, from: number, to: number, wish: PageRequest): Promise<Page<ItemChange>>;
}
