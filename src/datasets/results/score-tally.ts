import { RunningMean } from "../../analysis/running-mean.ts";
import type { ItemWithScores, ScorerResult, ScorerSummary } from "../summary.ts";

interface ScorerCount {
  readonly scorerName: string;
  readonly mean: RunningMean;
  unscored: number;
  errors: number;
  /** Items of which some repeats are still to come, with their scores so far. */
  readonly open: Map<string, { left: number; readonly scores: number[] }>;
}

/** Adds up scores as items come, in memory that does not grow with their number. */
export class ScoreTally {
  readonly #repeats: number;
  readonly #scorers = new Map<string, ScorerCount>();

  constructor(repeats: number) {
    this.#repeats = repeats;
  }

  add({ itemId, scores }: Pick<ItemWithScores, "itemId" | "scores">): void {
    for (const score of scores) this.#addScore(itemId, score);
  }

  /** Summarizes the scores so far. Items with repeats to come count with those they have. */
  summarize(): ScorerSummary[] {
    return [...this.#scorers].map(([scorerId, { scorerName, mean: running, unscored, errors, open }]) => {
      const mean = running.copy();
      for (const { scores } of open.values()) mean.addCluster(scores);
      return { scorerId, scorerName, mean: mean.mean, interval: mean.interval, scored: mean.count, unscored, errors };
    });
  }

  #addScore(itemId: string, { scorerId, scorerName, score, error }: ScorerResult): void {
    let count = this.#scorers.get(scorerId);
    if (count === undefined) {
      count = { scorerName, mean: new RunningMean(), unscored: 0, errors: 0, open: new Map() };
      this.#scorers.set(scorerId, count);
    }
    if (score === null && error !== null) count.errors++;
    else if (score === null) count.unscored++;
    if (this.#repeats > 1) addRepeat(count, itemId, score, this.#repeats);
    else if (score !== null) count.mean.addCluster([score]);
  }
}

function addRepeat({ mean, open }: ScorerCount, itemId: string, score: number | null, repeats: number): void {
  const item = open.get(itemId) ?? { left: repeats, scores: [] };
  item.left--;
  if (score !== null) item.scores.push(score);
  if (item.left > 0) open.set(itemId, item);
  else {
    open.delete(itemId);
    mean.addCluster(item.scores);
  }
}
