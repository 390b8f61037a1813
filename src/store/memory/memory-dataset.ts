import { setImmediate } from "node:timers/promises";
import type { DatasetItem, DatasetVersion, ItemChange, ItemEdition } from "../dataset-store.ts";
import { emptyVersion } from "../empty-version.ts";
import { decodeItem } from "../item-body.ts";
import type { Page, PageRequest } from "../store.ts";
import { unknownVersionError } from "../store-error.ts";

interface Edition {
  readonly from: number;
  until: number | null;
  readonly body: string;
}

interface Entry {
  readonly id: string;
  readonly editions: Edition[];
}

/** What a write staged: bodies by id, null for an item that goes. */
export type Staged = ReadonlyMap<string, string | null>;

// Entries between two turns of the event loop.
const entriesAtOnce = 5_000;

/** The items of one dataset in all their versions. */
export class MemoryDataset {
  readonly name: string;
  readonly versions: DatasetVersion[];
  readonly #entries: Entry[] = [];
  readonly #places = new Map<string, number>();
  #commits: Promise<unknown> = Promise.resolve();

  constructor(name: string, createdAt: number) {
    this.name = name;
    this.versions = [emptyVersion(createdAt)];
  }

  get newest(): DatasetVersion {
    return this.versions.at(-1) ?? emptyVersion(0);
  }

  items(version: number, { after, limit }: PageRequest): Page<DatasetItem> {
    this.#checkVersion(version);
    return this.#page({ after, limit }, (entry) => itemAt(entry, version));
  }

  item(version: number, itemId: string): DatasetItem | null {
    this.#checkVersion(version);
    const entry = this.#entryOf(itemId);
    return entry ? itemAt(entry, version) : null;
  }

  history(itemId: string): ItemEdition[] {
    const newest = this.newest.version;
    const editions = this.#entryOf(itemId)?.editions.filter(({ from }) => from <= newest) ?? [];
    return editions
      .map(({ from, until, body }) => ({
        item: decodeItem(itemId, from, body),
        until: until === newest + 1 ? null : until,
      }))
      .reverse();
  }

  diff(from: number, to: number, wish: PageRequest): Page<ItemChange> {
    this.#checkVersion(from);
    this.#checkVersion(to);
    return this.#page(wish, (entry) => {
      const [before, after] = [editionAt(entry, from), editionAt(entry, to)];
      if (before?.body === after?.body) return null;
      return { id: entry.id, before: itemAt(entry, from), after: itemAt(entry, to) };
    });
  }

  /** Makes the next version; the commits of several writes follow one another. */
  commit(staged: Staged, mode: "merge" | "replace", note: string | null, now: () => number): Promise<DatasetVersion> {
    const commit = this.#commits.then(() => this.#apply(staged, mode, note, now));
    this.#commits = commit.catch(() => {});
    return commit;
  }

  // Nobody sees what is half done: it all belongs to a version that is not there yet.
  async #apply(staged: Staged, mode: "merge" | "replace", note: string | null, now: () => number) {
    const version = this.newest.version + 1;
    const counts = { added: 0, changed: 0, removed: 0 };
    let done = 0;
    const breathe = (): Promise<void> | undefined => (++done % entriesAtOnce === 0 ? setImmediate() : undefined);
    for (const [id, body] of staged) {
      this.#put(id, body, version, counts);
      await breathe();
    }
    if (mode === "replace") {
      for (const entry of this.#entries) {
        if ((staged.get(entry.id) ?? null) === null) this.#put(entry.id, null, version, counts);
        await breathe();
      }
    }
    const { added, changed, removed } = counts;
    if (added + changed + removed === 0) return this.newest;
    const itemCount = this.newest.itemCount + added - removed;
    this.versions.push({ version, createdAt: now(), note, itemCount, added, changed, removed });
    return this.newest;
  }

  #put(id: string, body: string | null, version: number, counts: { added: number; changed: number; removed: number }) {
    const known = this.#entryOf(id);
    const last = known?.editions.at(-1);
    const standing = last?.until === null ? last : undefined;
    if (body === null ? !standing : standing?.body === body) return;
    if (standing) standing.until = version;
    counts[body === null ? "removed" : standing ? "changed" : "added"]++;
    if (body === null) return;
    const edition = { from: version, until: null, body };
    if (known) known.editions.push(edition);
    else {
      this.#places.set(id, this.#entries.length);
      this.#entries.push({ id, editions: [edition] });
    }
  }

  #entryOf(itemId: string): Entry | undefined {
    const place = this.#places.get(itemId);
    return place === undefined ? undefined : this.#entries[place];
  }

  #page<T>({ after, limit }: PageRequest, pick: (entry: Entry) => T | null): Page<T> {
    const entries: T[] = [];
    for (let place = (after ?? -1) + 1; place < this.#entries.length; place++) {
      const entry = this.#entries[place];
      const picked = entry ? pick(entry) : null;
      if (picked !== null) entries.push(picked);
      if (entries.length === limit) return { entries, next: place };
    }
    return { entries, next: null };
  }

  #checkVersion(version: number): void {
    const newest = this.newest.version;
    if (!Number.isInteger(version) || version < 0 || version > newest) {
      throw unknownVersionError(this.name, version, newest);
    }
  }
}

function editionAt({ editions }: Entry, version: number): Edition | undefined {
  return editions.findLast(({ from, until }) => from <= version && (until === null || until > version));
}

function itemAt(entry: Entry, version: number): DatasetItem | null {
  const edition = editionAt(entry, version);
  return edition ? decodeItem(entry.id, edition.from, edition.body) : null;
}
