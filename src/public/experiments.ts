import "../base/check-node.ts";

export { RolloutError } from "../base/rollout-error.ts";
export {
  defineExperiment,
  type Evaluation,
  type EvaluatorCall,
  type Experiment,
  type TaskCall,
} from "../experiments/sdk/experiment-definition.ts";
export type * from "../experiments/protocol.ts";
