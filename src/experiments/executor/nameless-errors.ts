import type { RawMembers } from "../../base/raw-members.ts";
import type { Pending, PendingAnswers } from "./pending-answers.ts";
import { taskKey } from "./read-message.ts";
import { errorOf, textOf } from "./read-outcome.ts";

/** An evaluation and the error that answers it. */
export type ErrorPair = readonly [pending: Pending, members: RawMembers];

/** Returns the run that an error names if it names no evaluator; null for any other message. */
export function runOfNamelessError(members: RawMembers): string | null {
  return textOf(members, "evaluator") !== null || errorOf(members) === null ? null : textOf(members, "run_id");
}

/**
 * Errors that name a run and no evaluator, where evaluations of that run wait. Which evaluation an error answers is
 * certain as soon as there are as many errors as evaluations.
 */
export class NamelessErrors {
  readonly #pending: PendingAnswers;
  readonly #byRun = new Map<string, RawMembers[]>();

  constructor(pending: PendingAnswers) {
    this.#pending = pending;
  }

  get isEmpty(): boolean {
    return this.#byRun.size === 0;
  }

  /** Holds an error. False if no evaluation of its run waits, or if it may be the late answer of the run's task. */
  hold(runId: string, members: RawMembers): boolean {
    if (this.#pending.isOwed({ key: taskKey(runId) }) || this.#pending.evaluationsOf(runId).length === 0) return false;
    this.#byRun.set(runId, [...(this.#byRun.get(runId) ?? []), members]);
    return true;
  }

  /** Gives out the errors of a run with the evaluations that they answer, once that is certain. */
  take(runId: string): readonly ErrorPair[] {
    const errors = this.#byRun.get(runId) ?? [];
    const waiting = this.#pending.evaluationsOf(runId);
    if (waiting.length > errors.length) return [];
    this.#byRun.delete(runId);
    return waiting.flatMap((pending, index): ErrorPair[] => {
      const members = errors[index];
      return members === undefined ? [] : [[pending, members]];
    });
  }

  /** Gives out the errors of a run that will never be certain. */
  drop(runId: string): readonly RawMembers[] {
    const errors = this.#byRun.get(runId) ?? [];
    this.#byRun.delete(runId);
    return errors;
  }
}
