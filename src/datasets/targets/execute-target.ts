import { messageOf } from "../../base/rollout-error.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { executeAgent } from "./execute-agent.ts";
import { executeFunction } from "./execute-function.ts";
import { executeScorer } from "./execute-scorer.ts";
import { executeWorkflow } from "./execute-workflow.ts";
import { failed } from "./execution-result.ts";
import type { TargetCall } from "./target-call.ts";
import type { ExecutionResult, TargetType } from "./target.ts";

/** Calls a target on an item. Never throws and never outlives its signal: what a target answers too late is dropped. */
export async function executeTarget(call: TargetCall): Promise<ExecutionResult> {
  try {
    call.signal.throwIfAborted();
    return await raceWithSignal(executors[call.target.type](call), call.signal, () => {});
  } catch (thrown) {
    return failed(messageOf(thrown), thrown);
  }
}

const executors: Readonly<Record<TargetType, (call: TargetCall) => Promise<ExecutionResult>>> = {
  agent: executeAgent,
  workflow: executeWorkflow,
  scorer: executeScorer,
  function: executeFunction,
};
