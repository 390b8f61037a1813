import type { RawMembers } from "../../base/raw-members.ts";
import type { LimitedCall } from "../../engine/limit-watch.ts";
import { taskKey } from "./read-message.ts";

/** What somebody waits for. */
export interface Pending extends LimitedCall {
  readonly id: number;
  /** How answers without an id name it. */
  readonly key: string;
  readonly runId: string | null;
  readonly signal: AbortSignal;
  /** Null once it was answered or given up. */
  waiter: Waiter | null;
}

export interface Waiter {
  readonly resolve: (members: RawMembers) => void;
  readonly reject: (error: unknown) => void;
}

const mostRemembered = 4000;

/** The answers that an executor owes, by what they are about. Each is given out once. */
export class PendingAnswers {
  readonly #byKey = new Map<string, Pending>();
  /** Keys that were answered of late, each in the place of an older one; they are looked for only when something is wrong. */
  readonly #answered: string[] = [];
  #answerCount = 0;
  /** Keys that nobody waits for any more, with how often an answer is still to come. */
  readonly #givenUp = new Map<string, number>();

  get size(): number {
    return this.#byKey.size;
  }

  get all(): readonly Pending[] {
    return Array.from(this.#byKey.values());
  }

  /** The only one there is; null when there are none or several. */
  get only(): Pending | null {
    if (this.#byKey.size !== 1) return null;
    for (const pending of this.#byKey.values()) return pending;
    return null;
  }

  /** Throws if a call with the same key is pending: its waiter would never be settled. */
  add(pending: Pending): void {
    if (this.#byKey.has(pending.key)) throw new Error(`internal error: "${pending.key}" is already pending`);
    this.#byKey.set(pending.key, pending);
  }

  /** Takes the one that an answer is for; null for an answer that nobody waits for. */
  take(id: number | null, key: string | null): Pending | null {
    const pending = this.#find(id, key);
    if (pending === null) return null;
    this.#byKey.delete(pending.key);
    this.#answered[this.#answerCount++ % mostRemembered] = pending.key;
    return pending;
  }

  /** Takes the call with an id if it is about that run. */
  takeOfRun(id: number, runId: string): Pending | null {
    const pending = this.all.find((one) => one.id === id && one.runId === runId);
    return pending === undefined ? null : this.take(id, pending.key);
  }

  /** The evaluations of a run. */
  evaluationsOf(runId: string): readonly Pending[] {
    return this.all.filter((pending) => pending.runId === runId && pending.key !== taskKey(runId));
  }

  /** Its answer may still come, and then is nobody's. */
  giveUp(pending: Pending): void {
    this.#byKey.delete(pending.key);
    this.#givenUp.set(pending.key, (this.#givenUp.get(pending.key) ?? 0) + 1);
  }

  /** Whether answers are still to come that nobody waits for. */
  get owesAny(): boolean {
    return this.#givenUp.size > 0;
  }

  isOwed({ key }: Pick<Pending, "key">): boolean {
    return this.#givenUp.has(key);
  }

  /** Why nobody waits for an answer. */
  explain(key: string | null): "late" | "duplicate" | "unknown" {
    if (key === null) return "unknown";
    const owed = this.#givenUp.get(key);
    if (owed === undefined) return this.#answered.includes(key) ? "duplicate" : "unknown";
    if (owed > 1) this.#givenUp.set(key, owed - 1);
    else this.#givenUp.delete(key);
    return "late";
  }

  #find(id: number | null, key: string | null): Pending | null {
    if (key === null) return id === null ? null : (this.all.find((pending) => pending.id === id) ?? null);
    const pending = this.#byKey.get(key) ?? null;
    // An answer about something else than what its id stands for belongs nowhere.
    if (id !== null) return pending?.id === id ? pending : null;
    // An answer that is still owed comes before one that was asked for later under the same name.
    return this.#givenUp.has(key) ? null : pending;
  }
}
