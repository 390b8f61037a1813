import { describeUnknown } from "../../../base/suggest.ts";

/** Fields that an item may lack, but of which a file that has none at all was meant to be read otherwise. */
export class UnseenFields {
  readonly #unseen: Set<string>;
  #known: readonly string[] | null = null;

  constructor(names: readonly string[]) {
    this.#unseen = new Set(names);
  }

  look(value: unknown): void {
    if (this.#unseen.size === 0 || typeof value !== "object" || value === null) return;
    this.#known ??= Object.keys(value);
    for (const name of this.#unseen) if (Object.hasOwn(value, name)) this.#unseen.delete(name);
  }

  /** Nothing while no item was seen. */
  problems(): { readonly path: string; readonly message: string }[] {
    const known = this.#known;
    if (known === null) return [];
    return [...this.#unseen].map((path) => ({ path, message: describeUnknown("field", path, known) }));
  }
}
