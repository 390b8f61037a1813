import type { PlannedTrial } from "./output/planned-trial.ts";
import type { Trial } from "./trial/trial.ts";

/** Trials as records and aggregates see them, in the same order. */
export function plannedTrialsOf(trials: readonly Trial[]): PlannedTrial[] {
  return trials.map(({ agent, datasetName, task, attempt }) => ({
    agentName: agent.name,
    datasetName,
    taskName: task.name,
    attempt,
  }));
}
