import type { JsonObject } from "../base/json.ts";
import type { Interval } from "../analysis/interval.ts";
import type { Usage } from "../scoring/scorer.ts";

/** What a thrown value says beside its message. */
export interface ErrorDetails {
  readonly name: string | null;
  readonly code: string | null;
  readonly status: number | null;
  readonly stack: string | null;
}

/** What became of one item. */
export interface ItemResult {
  /** Its place among the run's items and repeats, from 0. */
  readonly index: number;
  readonly itemId: string;
  readonly itemVersion: number;
  /** From 1. */
  readonly repeat: number;
  readonly input: unknown;
  /** Null for an item that failed. */
  readonly output: unknown;
  readonly expectedOutput: unknown;
  readonly metadata: JsonObject;
  readonly error: string | null;
  readonly errorDetails: ErrorDetails | null;
  /** The run ended before the item did; it runs again when the run is taken up. */
  readonly isInterrupted: boolean;
  readonly startedAt: Date;
  readonly completedAt: Date;
  readonly durationMs: number;
  readonly retryCount: number;
  readonly traceId: string | null;
  readonly usage: Usage | null;
}

/** What one scorer said of one item: a finite number, or null with a reason or an error. */
export interface ScorerResult {
  readonly scorerId: string;
  readonly scorerName: string;
  readonly score: number | null;
  readonly reason: string | null;
  /** What an evaluator of an experiment calls what it found. */
  readonly label?: string | undefined;
  readonly error: string | null;
  /** What else the scorer told. */
  readonly metadata: JsonObject | null;
}

export interface ItemWithScores extends ItemResult {
  readonly scores: readonly ScorerResult[];
  /** Why its result could not be stored; null when it was, or when there is no store. */
  readonly persistenceError: string | null;
}

/** All that one scorer said in a run. */
export interface ScorerSummary {
  readonly scorerId: string;
  readonly scorerName: string;
  /** Over the items that have a score; null when none has. */
  readonly mean: number | null;
  /** At 95 %, with the item and never its repeats as the unit of analysis. */
  readonly interval: Interval | null;
  readonly scored: number;
  /** Items without a score that did not fail in the scorer: it had nothing to say, or the item failed. */
  readonly unscored: number;
  readonly errors: number;
}

/** What became of a run; also of one that was aborted or broke down. */
export interface RunSummary {
  readonly runId: string;
  readonly status: "completed" | "failed";
  readonly totalItems: number;
  readonly succeededCount: number;
  readonly failedCount: number;
  /** Items that never ran. */
  readonly skippedCount: number;
  readonly completedWithErrors: boolean;
  /** Results that could not be stored. */
  readonly persistenceFailures: number;
  readonly startedAt: Date;
  readonly completedAt: Date;
  /** In the order of the items; empty unless `retainResults`. */
  readonly results: readonly ItemWithScores[];
  readonly scorers: readonly ScorerSummary[];
  /** What scorers of the whole run said. */
  readonly datasetScores: readonly ScorerResult[];
  /** Why the run ended early; null when it did not. */
  readonly error: string | null;
  readonly warnings: readonly string[];
}
