import { copyPlain } from "../../base/copy-plain.ts";
import { describeThrown } from "../item/describe-thrown.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { executeAgent } from "./execute-agent.ts";
import { executeFunction } from "./execute-function.ts";
import { executeScorer } from "./execute-scorer.ts";
import { executeWorkflow } from "./execute-workflow.ts";
import { failed } from "./execution-result.ts";
import type { TargetCall } from "./target-call.ts";
import type { ExecutionResult, TargetType } from "./target.ts";

/**
 * Calls a target on an item, without a promise when it answers without one. Never throws and never outlives its signal:
 * what a target answers too late is dropped.
 */
export function executeTarget(call: TargetCall): Promise<ExecutionResult> | ExecutionResult {
  const { signal } = call;
  try {
    signal.throwIfAborted();
    const answer = executors[call.target.type](withOwnItem(call));
    if (answer instanceof Promise) return raceWithSignal(answer, signal, () => {}).catch(describeFailure);
    signal.throwIfAborted();
    return answer;
  } catch (thrown) {
    return describeFailure(thrown);
  }
}

function describeFailure(thrown: unknown): ExecutionResult {
  return failed(describeThrown(thrown), thrown);
}

const executors: Readonly<Record<TargetType, (call: TargetCall) => Promise<ExecutionResult> | ExecutionResult>> = {
  agent: executeAgent,
  workflow: executeWorkflow,
  scorer: executeScorer,
  function: executeFunction,
};

/** Each call has an item of its own: what a target does to it is seen by no other call, no scorer and no store. */
function withOwnItem(call: TargetCall): TargetCall {
  const { id, input, expectedOutput, metadata, scorerIds, version } = call.item;
  const own = { input: copyPlain(input), expectedOutput: copyPlain(expectedOutput), metadata: copyPlain(metadata) };
  return {
    target: call.target,
    item: { id, ...own, scorerIds, version },
    repeat: call.repeat,
    signal: call.signal,
    warn: call.warn,
  };
}
