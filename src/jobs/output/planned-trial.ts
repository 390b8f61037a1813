import { trialKey } from "./job-paths.ts";

/** A trial of the plan, as far as records and aggregates care. */
export interface PlannedTrial {
  readonly agentName: string;
  readonly datasetName: string;
  readonly taskName: string;
  readonly attempt: number;
}

/** `agent/dataset/task__1`: what a planned trial goes by, and its folder. */
export function keyOf({ agentName, datasetName, taskName, attempt }: PlannedTrial): string {
  return trialKey(agentName, datasetName, taskName, attempt);
}
