import type { ToolMarks } from "../../integrity/tool-marks.ts";
import type { Engine } from "../connection/open-engine.ts";
import { findTools, type SeenTools } from "./look-at-tools.ts";
import { readContents } from "./read-contents.ts";

const never = new AbortController().signal;

/** Lends a container of an image that is never started, for as long as the work takes. */
export type BorrowContainer = <T>(work: (id: string) => Promise<T>) => Promise<T>;

/** The tools as an image has them. However many containers are made from it, each is looked at once. */
export class ImageTools {
  readonly #engine: Engine;
  readonly #contents = new Map<string, Promise<string | null>>();
  #seen: Promise<SeenTools> | null = null;
  #marks: ToolMarks | null = null;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Their marks, when they are known already. */
  get marks(): ToolMarks | null {
    return this.#marks;
  }

  find(borrow: BorrowContainer): Promise<SeenTools> {
    this.#seen ??= this.#look(borrow);
    return this.#seen;
  }

  /** A hash of what each of the given files holds. */
  async read(paths: readonly string[], borrow: BorrowContainer): Promise<ReadonlyMap<string, string>> {
    const unknown = paths.filter((path) => !this.#contents.has(path));
    if (unknown.length > 0) {
      const reading = borrow((id) => readContents(this.#engine, id, unknown, never));
      for (const path of unknown) this.#contents.set(path, this.#rememberOne(path, reading));
    }
    const known = await Promise.all(paths.map(async (path) => [path, await this.#contents.get(path)] as const));
    return new Map(known.flatMap(([path, content]) => (content ? [[path, content]] : [])));
  }

  async #look(borrow: BorrowContainer): Promise<SeenTools> {
    try {
      const seen = await borrow((id) => findTools(this.#engine, id, never));
      this.#marks = seen.marks;
      return seen;
    } catch (error) {
      this.#seen = null;
      throw error;
    }
  }

  async #rememberOne(path: string, reading: Promise<ReadonlyMap<string, string>>): Promise<string | null> {
    try {
      return (await reading).get(path) ?? null;
    } catch (error) {
      this.#contents.delete(path);
      throw error;
    }
  }
}
