import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { DatasetRecord, DatasetStore, DatasetTraits, DatasetWrite, WriteWish } from "../dataset-store.ts";
import { encodeItem } from "../item-body.ts";
import type { Page, PageRequest } from "../store.ts";
import { checkLimit, checkName, lostWriteError, takenError, unknownError } from "../store-error.ts";
import { MemoryDataset } from "./memory-dataset.ts";

interface Kept {
  readonly items: MemoryDataset;
  /** As JSON, so that nobody changes it from outside. */
  traits: string;
  name: string;
  readonly createdAt: number;
  updatedAt: number;
}

/** Datasets in the memory of this process. */
export class MemoryDatasetStore implements DatasetStore {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async create(traits: DatasetTraits): Promise<DatasetRecord> {
    checkName("the name of a dataset", traits.name);
    this.#checkFree(traits.name, null);
    const now = this.#clock.now();
    const id = randomUUID();
    const items = new MemoryDataset(traits.name, now);
    this.#kept.set(id, { items, traits: encode(traits), name: traits.name, createdAt: now, updatedAt: now });
    return this.#record(id);
  }

  async find(idOrName: string): Promise<DatasetRecord | null> {
    const id = this.#kept.has(idOrName) ? idOrName : this.#idOf(idOrName);
    return id === undefined ? null : this.#record(id);
  }

  async list({ after, limit }: PageRequest<string>): Promise<Page<DatasetRecord, string>> {
    checkLimit(limit);
    const ids = new Map([...this.#kept].map(([id, { name }]) => [name, id]));
    const names = [...ids.keys()].filter((name) => after === null || compareBytes(name, after) > 0).sort(compareBytes);
    const entries = names.slice(0, limit).map((name) => this.#record(ids.get(name) ?? ""));
    return { entries, next: entries.length < limit ? null : (entries.at(-1)?.name ?? null) };
  }

  async update(datasetId: string, changes: Partial<DatasetTraits>): Promise<DatasetRecord> {
    const kept = this.#get(datasetId);
    const traits = { ...this.#record(datasetId), ...changes };
    checkName("the name of a dataset", traits.name);
    this.#checkFree(traits.name, datasetId);
    kept.name = traits.name;
    kept.traits = encode(traits);
    kept.updatedAt = this.#clock.now();
    return this.#record(datasetId);
  }

  async remove(datasetId: string): Promise<void> {
    this.#get(datasetId);
    this.#kept.delete(datasetId);
  }

  async openWrite({ datasetId, mode, note }: WriteWish): Promise<DatasetWrite> {
    if (typeof datasetId === "string") this.#get(datasetId);
    else checkName("the name of a dataset", datasetId.name);
    let staged: Map<string, string | null> | null = new Map();
    const get = (): Map<string, string | null> => {
      const isGone = typeof datasetId === "string" && !this.#kept.has(datasetId);
      if (staged === null || isGone) throw lostWriteError();
      return staged;
    };
    return {
      put: async (items) => {
        const into = get();
        for (const { id } of items) if (id !== undefined) checkName("the id of an item", id);
        for (const item of items) into.set(item.id ?? randomUUID(), encodeItem(item));
      },
      remove: async (itemIds) => {
        const into = get();
        for (const id of itemIds) into.set(id, null);
      },
      commit: async () => {
        const all = get();
        const id =
          typeof datasetId === "string" ? datasetId : (this.#idOf(datasetId.name) ?? (await this.create(datasetId)).id);
        const kept = this.#get(id);
        staged = null;
        const before = kept.items.newest.version;
        const version = await kept.items.commit(all, mode, note, () => this.#clock.now());
        if (version.version > before) kept.updatedAt = version.createdAt;
        return version;
      },
      [Symbol.asyncDispose]: async () => {
        staged = null;
      },
    };
  }

  async versions(datasetId: string, { after, limit }: PageRequest) {
    checkLimit(limit);
    const { versions } = this.#get(datasetId).items;
    const entries = versions
      .slice(1, after ?? undefined)
      .reverse()
      .slice(0, limit);
    return { entries, next: entries.length < limit ? null : (entries.at(-1)?.version ?? null) };
  }

  async version(datasetId: string, version: number) {
    return this.#get(datasetId).items.versions[version] ?? null;
  }

  async items(datasetId: string, version: number, wish: PageRequest) {
    checkLimit(wish.limit);
    return this.#get(datasetId).items.items(version, wish);
  }

  async item(datasetId: string, version: number, itemId: string) {
    return this.#get(datasetId).items.item(version, itemId);
  }

  async history(datasetId: string, itemId: string) {
    return this.#get(datasetId).items.history(itemId);
  }

  async diff(datasetId: string, from: number, to: number, wish: PageRequest) {
    checkLimit(wish.limit);
    return this.#get(datasetId).items.diff(from, to, wish);
  }

  #get(datasetId: string): Kept {
    const kept = this.#kept.get(datasetId);
    if (!kept) throw unknownError("dataset", datasetId);
    return kept;
  }

  #idOf(name: string): string | undefined {
    for (const [id, kept] of this.#kept) if (kept.name === name) return id;
    return undefined;
  }

  #checkFree(name: string, except: string | null): void {
    const id = this.#idOf(name);
    if (id !== undefined && id !== except) throw takenError(`dataset "${name}"`);
  }

  #record(id: string): DatasetRecord {
    const { items, traits, name, createdAt, updatedAt } = this.#get(id);
    const { version, itemCount } = items.newest;
    return {
      id,
      name,
      ...(JSON.parse(traits) as Omit<DatasetTraits, "name">),
      version,
      itemCount,
      createdAt,
      updatedAt,
    };
  }
}

function encode({ description, metadata, inputSchema, expectedOutputSchema, scorerIds }: DatasetTraits): string {
  return JSON.stringify({ description, metadata, inputSchema, expectedOutputSchema, scorerIds });
}

function compareBytes(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other));
}
