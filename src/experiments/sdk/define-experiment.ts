import type { JsonObject } from "../../base/json.ts";
import { checkDefinition } from "./check-definition.ts";
import type { Experiment } from "./experiment-definition.ts";

/** An experiment for `rollout experiment` to find as a file's default export; it is returned as it is. Throws when it is none. */
export function defineExperiment<Params extends JsonObject>(experiment: Experiment<Params>): Experiment<Params> {
  checkDefinition(experiment);
  return experiment;
}
