import type { EvalOutcome } from "../../executor/executor.ts";
import type { AnsweredRun, StoredExample } from "../experiment-output.ts";

/** Finds evaluations that belong to an output that a resumed experiment replaces: they must not count for the new one. */
export class ReplacedOutputs {
  /** The evaluators of failed tasks that have not been answered again, by run. */
  readonly #evaluators = new Map<string, readonly string[]>();

  /** Remembers the evaluations of a task that failed: it will run again. Returns its argument. */
  note(stored: StoredExample | null): StoredExample | null {
    if (stored !== null && stored.outcome.error !== null && stored.evaluations.size > 0)
      this.#evaluators.set(stored.run.runId, [...stored.evaluations.keys()]);
    return stored;
  }

  /** Returns results that replace the evaluations of the earlier output. They have no score, so that they are made again. */
  take({ run: { runId } }: AnsweredRun): readonly EvalOutcome[] {
    const evaluators = this.#evaluators.get(runId) ?? [];
    this.#evaluators.delete(runId);
    const nothing = { score: null, label: null, explanation: null, metadata: null };
    return evaluators.map((evaluator) => ({
      evaluator,
      ...nothing,
      error: "the task ran again after this evaluation",
    }));
  }
}
