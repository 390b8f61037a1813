import type { UnitRow } from "../../store/run.ts";

const none: readonly never[] = [];

/** What an index keeps of one run: its row without texts, and where its lines start. */
export class IndexedRun {
  #row: UnitRow | null = null;
  #runStart = 0;
  #scores: UnitRow["scores"] = none;
  #evaluationStarts: readonly number[] = none;
  /** Evaluators whose last answer was an error. */
  #failed: readonly string[] = none;

  /** Null if the task has no answer. */
  get row(): UnitRow | null {
    return this.#row;
  }

  /** Where the line of the task starts. */
  get runStart(): number {
    return this.#runStart;
  }

  /** Where the last line of each evaluator starts, in the order of their first lines. */
  get evaluationStarts(): readonly number[] {
    return this.#evaluationStarts;
  }

  /** Sets the answer of the task. Scores and warnings of `row` are ignored. */
  setTask(row: UnitRow, start: number): void {
    this.#row = { ...row, scores: this.#scores, warningCount: this.#failed.length };
    this.#runStart = start;
  }

  setEvaluation(score: UnitRow["scores"][number], hasFailed: boolean, start: number): void {
    const { name } = score;
    const known = this.#scores.findIndex((each) => each.name === name);
    const at = known === -1 ? this.#scores.length : known;
    this.#scores = this.#scores.toSpliced(at, 1, score);
    this.#evaluationStarts = this.#evaluationStarts.toSpliced(at, 1, start);
    const others = this.#failed.length === 0 ? none : this.#failed.filter((each) => each !== name);
    this.#failed = hasFailed ? [...others, name] : others;
    if (this.#row !== null) this.setTask(this.#row, this.#runStart);
  }

  removeTask(): void {
    this.#row = null;
  }

  removeEvaluations(): void {
    this.#scores = none;
    this.#evaluationStarts = none;
    this.#failed = none;
    if (this.#row !== null) this.setTask(this.#row, this.#runStart);
  }
}
