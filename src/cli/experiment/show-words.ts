import { join } from "node:path";
import { shellWord } from "../../base/shown-path.ts";
import type { PlaceOptions } from "./open-experiment-place.ts";

/** What to type to see an experiment again. */
export function showWords(id: string, { outputDir, store }: PlaceOptions): string {
  if (outputDir !== undefined) return `rollout show ${shellWord(join(outputDir, id))}`;
  return `rollout show ${shellWord(id)}${store === undefined ? "" : ` --store ${shellWord(store)}`}`;
}
