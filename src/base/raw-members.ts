import type { RawJson } from "./raw-json.ts";

/** Why a member is not passed on as it was written: NaN and infinities became text, a value that is nested too deep became null. */
export type MemberFlaw = "non_finite" | "too_deep";

/** The members of a JSON object as they are written. Of two with one name the last counts. */
export class RawMembers implements Iterable<readonly [name: string, raw: RawJson]> {
  // They are few: looking through them takes less than a table would.
  readonly #names: string[] = [];
  readonly #raws: RawJson[] = [];
  /** By place. Null for nearly all objects. */
  #flaws: Map<number, MemberFlaw> | null = null;

  add(name: string, raw: RawJson): void {
    this.#names.push(name);
    this.#raws.push(raw);
  }

  addFlawed(name: string, raw: RawJson, flaw: MemberFlaw): void {
    (this.#flaws ??= new Map()).set(this.#names.length, flaw);
    this.add(name, raw);
  }

  flawOf(name: string): MemberFlaw | null {
    return this.#flaws?.get(this.#find(name)) ?? null;
  }

  /** The names of flawed members. */
  get flawed(): readonly string[] {
    return this.#flaws === null ? noNames : this.#names.filter((name) => this.flawOf(name) !== null);
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

const noNames: readonly string[] = [];
