import { HeadlineTally, type Attempt } from "../../analysis/headline-tally.ts";
import type { Run } from "../../store/run.ts";
import type { RunRules } from "../check-run-config.ts";
import type { ItemWithScores, RunSummary, ScorerResult, ScorerSummary } from "../summary.ts";
import { ScoreTally } from "./score-tally.ts";

export interface RunEnding {
  readonly runId: string;
  readonly startedAt: number;
  readonly completedAt: number;
  readonly error: string | null;
  readonly datasetScores: readonly ScorerResult[];
}

export interface RunProgress extends Pick<
  Run,
  "counts" | "headline" | "spendUsd" | "unknownSpends" | "isResumable" | "warnings"
> {
  readonly scorers: readonly ScorerSummary[];
  /** Results that could not be stored. */
  readonly persistenceFailures: number;
}

const maxWarnings = 100;

/** Counts what becomes of items, and keeps them when it is asked to. */
export class RunCount {
  readonly #rules: RunRules;
  readonly #total: number;
  readonly #scoreName: string | null;
  readonly #tally: ScoreTally;
  readonly #retained: ItemWithScores[] = [];
  readonly #warnings = new Set<string>();
  #succeeded = 0;
  #failed = 0;
  #interrupted = 0;
  #persistenceFailures = 0;
  #spendUsd = 0;
  #unknownSpends = 0;
  readonly #headline: HeadlineTally;

  /** `scoreName` is the score of the headline; null if nothing is scored. */
  constructor(rules: RunRules, total: number, scoreName: string | null) {
    this.#rules = rules;
    this.#total = total;
    this.#scoreName = scoreName;
    this.#tally = new ScoreTally(rules.repeats);
    this.#headline = new HeadlineTally(rules.passAt, rules.repeats);
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
    this.restore(item);
  }

  /** Counts an item of an earlier session. */
  restore(item: ItemWithScores): void {
    if (item.error === null) this.#succeeded++;
    else this.#failed++;
    if (item.isInterrupted) this.#interrupted++;
    else this.#tally.add(item);
    const costUsd = item.usage?.costUsd ?? null;
    if (costUsd === null) this.#unknownSpends++;
    else this.#spendUsd += costUsd;
    this.#headline.add(item.itemId, attemptOf(item, this.#scoreName));
    if (this.#rules.retainResults) this.#retained.push(item);
  }

  warn(message: string): void {
    if (this.#warnings.size < maxWarnings) this.#warnings.add(message);
  }

  /** Describes the run so far. */
  describe(): RunProgress {
    const cancelled = this.#interrupted;
    const scoreName = this.#scoreName;
    return {
      counts: {
        finished: this.#succeeded + this.#failed,
        completed: this.#succeeded,
        failed: this.#failed - cancelled,
        cancelled,
        untrusted: 0,
      },
      headline:
        scoreName === null
          ? null
          : {
              score: scoreName,
              ...this.#headline.summarize(),
              excluded: cancelled === 0 ? {} : { cancelled },
            },
      spendUsd: this.#spendUsd,
      unknownSpends: this.#unknownSpends,
      // A result that could not be stored can run again.
      isResumable: !this.isComplete || this.#persistenceFailures > 0,
      warnings: [...this.#warnings],
      scorers: this.#tally.summarize(),
      persistenceFailures: this.#persistenceFailures,
    };
  }

  summarize({ runId, startedAt, completedAt, error, datasetScores }: RunEnding): RunSummary {
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
      startedAt: new Date(startedAt),
      completedAt: new Date(completedAt),
      results: this.retained,
      scorers: this.#tally.summarize(),
      datasetScores,
      error,
      warnings: [...this.#warnings],
    };
  }
}

function attemptOf({ scores, error, isInterrupted }: ItemWithScores, scoreName: string | null): Attempt {
  if (isInterrupted) return "excluded";
  // By name: an item can have scorers of its own.
  const value = scores.find(({ scorerId }) => scorerId === scoreName)?.score ?? null;
  if (value !== null) return { value };
  return error === null ? "excluded" : "missed";
}
