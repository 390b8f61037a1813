import type { ResultBatch, StoredResult, StoredScore } from "./run-store.ts";

/** One unit as a store keeps it: its scores go with its result, so that both are written and read as one. */
export interface StoredUnit {
  readonly index: number;
  /** Null while only scorers have spoken. */
  readonly result: StoredResult | null;
  /** One for each scorer, in the order in which they were first written. */
  readonly scores: readonly StoredScore[];
}

interface OpenUnit extends StoredUnit {
  result: StoredResult | null;
  readonly scores: StoredScore[];
}

/** A batch unit by unit; of what is said twice the last counts. */
export function groupUnits({ results, scores }: ResultBatch): readonly StoredUnit[] {
  const units = new Map<number, OpenUnit>();
  const unitOf = (index: number): OpenUnit => {
    let unit = units.get(index);
    if (unit === undefined) units.set(index, (unit = { index, result: null, scores: [] }));
    return unit;
  };
  for (const result of results) unitOf(result.index).result = result;
  for (const score of scores) putScore(unitOf(score.index).scores, score);
  return [...units.values()];
}

/** A unit that a store kept, with what is new put over it. */
export function putOver(known: StoredUnit, { index, result, scores }: StoredUnit): StoredUnit {
  const all = [...known.scores];
  for (const score of scores) putScore(all, score);
  return { index, result: result ?? known.result, scores: all };
}

function putScore(scores: StoredScore[], score: StoredScore): void {
  const at = scores.findIndex(({ scorerId }) => scorerId === score.scorerId);
  if (at === -1) scores.push(score);
  else scores[at] = score;
}
