import type { DatasetItem } from "../../store/dataset-store.ts";
import type { ResolvedTarget } from "./target.ts";

/** One call of a target. */
export interface TargetCall {
  readonly target: ResolvedTarget;
  readonly item: DatasetItem;
  readonly repeat: number;
  readonly signal: AbortSignal;
  readonly warn: (message: string) => void;
}
