import type { DatasetItem } from "../../store/dataset-store.ts";
import type { ItemSource } from "./item-source.ts";

/** One item to be run once. */
export interface ItemUnit {
  /** Its place among all items and repeats, from 0. */
  readonly index: number;
  readonly item: DatasetItem;
  /** From 1. */
  readonly repeat: number;
}

/** Hands out a run's units in order, without those that an earlier session finished. */
export class UnitStream {
  readonly #pages: AsyncIterator<readonly DatasetItem[]>;
  readonly #repeats: number;
  readonly #isDone: (index: number) => boolean;
  #page: readonly DatasetItem[] = [];
  /** The next unit: its page's first index, and its place in the page counted in units. */
  #pageStart = 0;
  #place = 0;

  constructor(source: ItemSource, repeats: number, isDone: (index: number) => boolean) {
    this.#pages = source.pages()[Symbol.asyncIterator]();
    this.#repeats = repeats;
    this.#isDone = isDone;
  }

  /** Null at the end. Answers at once unless a page has to be fetched. */
  next(): Promise<ItemUnit | null> | ItemUnit | null {
    return this.#takeFromPage() ?? this.#takeFromNextPage();
  }

  /** Lets go of what the source holds. */
  async close(): Promise<void> {
    await this.#pages.return?.();
  }

  #takeFromPage(): ItemUnit | null {
    const size = this.#page.length * this.#repeats;
    while (this.#place < size) {
      const place = this.#place++;
      const index = this.#pageStart + place;
      const item = this.#page[Math.floor(place / this.#repeats)];
      if (item !== undefined && !this.#isDone(index)) return { index, item, repeat: (place % this.#repeats) + 1 };
    }
    return null;
  }

  async #takeFromNextPage(): Promise<ItemUnit | null> {
    for (;;) {
      const page = await this.#pages.next();
      if (page.done === true) return null;
      this.#pageStart += this.#page.length * this.#repeats;
      this.#page = page.value;
      this.#place = 0;
      const unit = this.#takeFromPage();
      if (unit !== null) return unit;
    }
  }
}
