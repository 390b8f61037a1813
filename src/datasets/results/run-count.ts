import type { RunRules } from "../check-run-config.ts";
import type { ItemWithScores, RunSummary, ScorerResult } from "../summary.ts";
import { ScoreTally } from "./score-tally.ts";

export interface RunEnding {
  readonly runId: string;
  readonly completedAt: number;
  readonly error: string | null;
  readonly datasetScores: readonly ScorerResult[];
}

const mostWarnings = 100;

/** Counts what becomes of items, and keeps them when it is asked to. */
export class RunCount {
  readonly #rules: RunRules;
  readonly #total: number;
  readonly #startedAt: number;
  readonly #tally: ScoreTally;
  readonly #retained: ItemWithScores[] = [];
  readonly #warnings = new Set<string>();
  #succeeded = 0;
  #failed = 0;
  #interrupted = 0;
  #persistenceFailures = 0;

  constructor(rules: RunRules, total: number, startedAt: number) {
    this.#rules = rules;
    this.#total = total;
    this.#startedAt = startedAt;
    this.#tally = new ScoreTally(rules.repeats);
  }

  /** Every item came to an end of its own. */
  get isComplete(): boolean {
    return this.#succeeded + this.#failed - this.#interrupted === this.#total;
  }

  /** In the order of the items. */
  get retained(): readonly ItemWithScores[] {
    return this.#retained.sort((a, b) => a.index - b.index);
  }

  add(item: ItemWithScores): void {
    if (item.persistenceError !== null) this.#persistenceFailures++;
    this.keep(item);
  }

  /** Counts an item of an earlier session. */
  keep(item: ItemWithScores): void {
    if (item.error === null) this.#succeeded++;
    else this.#failed++;
    if (item.isInterrupted) this.#interrupted++;
    else this.#tally.add(item);
    if (this.#rules.retainResults) this.#retained.push(item);
  }

  warn(message: string): void {
    if (this.#warnings.size < mostWarnings) this.#warnings.add(message);
  }

  summarize({ runId, completedAt, error, datasetScores }: RunEnding): RunSummary {
    const hasFailed = error !== null || !this.isComplete || this.#failed === this.#total;
    return {
      runId,
      status: hasFailed ? "failed" : "completed",
      totalItems: this.#total,
      succeededCount: this.#succeeded,
      failedCount: this.#failed,
      skippedCount: this.#total - this.#succeeded - this.#failed,
      completedWithErrors: !hasFailed && this.#failed > 0,
      persistenceFailures: this.#persistenceFailures,
      startedAt: new Date(this.#startedAt),
      completedAt: new Date(completedAt),
      results: this.retained,
      scorers: this.#tally.summarize(),
      datasetScores,
      error,
      warnings: [...this.#warnings],
    };
  }
}
