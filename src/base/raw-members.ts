import type { RawJson } from "./raw-json.ts";

/** The members of a JSON object as they are written. Of two with one name the last counts. */
export class RawMembers implements Iterable<readonly [name: string, raw: RawJson]> {
  // They are few: looking through them takes less than a table would.
  readonly #names: string[] = [];
  readonly #raws: RawJson[] = [];

  add(name: string, raw: RawJson): void {
    this.#names.push(name);
    this.#raws.push(raw);
  }

  get(name: string): RawJson | undefined {
    const at = this.#find(name);
    return at === -1 ? undefined : this.#raws[at];
  }

  has(name: string): boolean {
    return this.#find(name) !== -1;
  }

  /** In order, also those that do not count. */
  get names(): readonly string[] {
    return this.#names;
  }

  *[Symbol.iterator](): Iterator<readonly [name: string, raw: RawJson]> {
    for (const [at, name] of this.#names.entries()) yield [name, this.#raws[at] as RawJson];
  }

  // Several times faster than `lastIndexOf`.
  #find(name: string): number {
    const names = this.#names;
    let at = names.length - 1;
    while (at >= 0 && names[at] !== name) at--;
    return at;
  }
}
