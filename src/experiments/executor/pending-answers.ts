import type { RawJson } from "../../base/raw-json.ts";

/** What somebody waits for. */
export interface Pending {
  readonly id: number;
  /** How answers without an id name it. */
  readonly key: string;
  readonly runId: string | null;
  readonly resolve: (members: ReadonlyMap<string, RawJson>) => void;
  readonly reject: (error: unknown) => void;
}

const mostRemembered = 10_000;

/** The answers that an executor owes, by id and by what they are about. Each is given out once. */
export class PendingAnswers {
  readonly #byId = new Map<number, Pending>();
  readonly #byKey = new Map<string, Pending>();
  /** Keys that were answered or given up, the oldest first. */
  readonly #settled = new Set<string>();

  get size(): number {
    return this.#byId.size;
  }

  get all(): Iterable<Pending> {
    return this.#byId.values();
  }

  add(pending: Pending): void {
    this.#byId.set(pending.id, pending);
    this.#byKey.set(pending.key, pending);
  }

  /** Takes the one that an answer is for; null for an answer that nobody waits for. */
  take(id: number | null, key: string): Pending | null {
    const pending = id === null ? this.#byKey.get(key) : this.#byId.get(id);
    // An answer about something else than what its id stands for belongs nowhere.
    if (pending === undefined || pending.key !== key) return null;
    this.remove(pending);
    return pending;
  }

  /** Takes the one with an id, for an answer that says no more than that. */
  takeById(id: number): Pending | null {
    const pending = this.#byId.get(id) ?? null;
    if (pending !== null) this.remove(pending);
    return pending;
  }

  /** The only one there is, for an answer that does not say what it is about. */
  takeOnly(): Pending | null {
    const [only] = this.#byId.values();
    if (only === undefined || this.#byId.size > 1) return null;
    this.remove(only);
    return only;
  }

  remove(pending: Pending): void {
    this.#byId.delete(pending.id);
    if (this.#byKey.get(pending.key) === pending) this.#byKey.delete(pending.key);
    this.#settled.add(pending.key);
    if (this.#settled.size > mostRemembered)
      for (const oldest of this.#settled) {
        this.#settled.delete(oldest);
        break;
      }
  }

  /** Whether somebody once waited for it. */
  wasSettled(key: string): boolean {
    return this.#settled.has(key);
  }
}
