import type { JsonObject } from "../../base/json.ts";
import type { Executor } from "./executor.ts";
import type { Experiment } from "./experiment-definition.ts";
import { ExperimentRunner } from "./experiment-runner.ts";

/** An executor of an experiment in this process; it answers as one in a process of its own does. */
export function createExecutor<Params extends JsonObject>(experiment: Experiment<Params>): Executor {
  return new ExperimentRunner(experiment as unknown as Experiment, (text) => process.emitWarning(text));
}
