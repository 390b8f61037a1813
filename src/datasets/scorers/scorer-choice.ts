import type { DatasetItem, DatasetRecord } from "../../store/dataset-store.ts";
import type { Registry } from "../targets/registry.ts";
import { resolveScorers, type ResolvedScorer, type ResolvedScorers } from "./resolve-scorers.ts";

/** Which scorers mark which item: those of the run before those of the item before those of the dataset. */
export interface ScorerChoice {
  readonly ofRun: ResolvedScorers;
  /** Rejects when the item asks for a scorer that nobody knows. */
  forItem(item: DatasetItem): Promise<readonly ResolvedScorer[]> | readonly ResolvedScorer[];
}

export interface ScorerWish {
  /** Even an empty list wins over what items and dataset say. */
  readonly scorers: readonly unknown[] | undefined;
  readonly registry: Registry | undefined;
  readonly dataset: DatasetRecord | null;
}

/** Resolves what is known before the start; scorers of single items are found when they come, each once. */
export async function chooseScorers({ scorers, registry, dataset }: ScorerWish): Promise<ScorerChoice> {
  const ofRun = await resolveScorers(scorers ?? dataset?.scorerIds ?? [], registry);
  if (scorers !== undefined) return { ofRun, forItem: () => ofRun.perItem };
  const known = new Map<string, Promise<ResolvedScorers>>();
  const find = async (ids: readonly string[]): Promise<readonly ResolvedScorer[]> => {
    const key = JSON.stringify(ids);
    const resolved = known.get(key) ?? resolveScorers(ids, registry);
    known.set(key, resolved);
    return (await resolved).perItem;
  };
  return { ofRun, forItem: ({ scorerIds }) => (scorerIds === undefined ? ofRun.perItem : find(scorerIds)) };
}
