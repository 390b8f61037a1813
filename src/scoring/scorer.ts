/** What a target used up, as far as it is known. */
export interface Usage {
  readonly costUsd: number | null;
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
}

/** What a scorer is asked to mark: one item and what became of it. */
export interface ScorerRun {
  readonly input: unknown;
  /** Null for an item that failed. */
  readonly output: unknown;
  readonly groundTruth?: unknown;
  readonly itemId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly durationMs: number;
  readonly usage: Usage | null;
  /** The message of the item's failure; null for one that succeeded. */
  readonly error: string | null;
  /** Ends with the item's deadline or with the run. */
  readonly signal: AbortSignal;
}

/** A mark: a finite number, or null where nothing can be said; `reason` is for people. */
export interface Verdict {
  readonly score: number | null;
  readonly reason?: string | null | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

/** What marks items. Objects of other libraries with an id and a `run` fit as they are. */
export interface Scorer {
  readonly id: string;
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  run(run: ScorerRun): Promise<Verdict> | Verdict;
}

/** An item after it ran, as a scorer of a whole dataset sees it. */
export interface ScoredItem extends Omit<ScorerRun, "signal"> {
  readonly repeat: number;
  readonly scores: Readonly<Record<string, number | null>>;
}

/** What marks a run as a whole, once all its items are done: a correlation, an F1. */
export interface DatasetScorer {
  readonly id: string;
  readonly name?: string | undefined;
  runDataset(run: {
    readonly items: AsyncIterable<ScoredItem>;
    readonly signal: AbortSignal;
  }): Promise<Verdict> | Verdict;
}
