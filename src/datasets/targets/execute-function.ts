import { isThenable } from "../../engine/is-thenable.ts";
import { answered } from "./execution-result.ts";
import type { TargetCall } from "./target-call.ts";
import { splitUsage, type ExecutionResult, type FunctionCall } from "./target.ts";
import { readUsage, trimAnswer } from "./trim-answer.ts";

/** Calls a function with an item's input; throws what it throws. */
export function executeFunction({
  target,
  item,
  repeat,
  signal,
}: TargetCall): Promise<ExecutionResult> | ExecutionResult {
  const call: FunctionCall = {
    itemId: item.id,
    expectedOutput: item.expectedOutput,
    metadata: item.metadata ?? {},
    repeat,
    signal,
  };
  const answer = (target.target as (input: unknown, call: FunctionCall) => unknown)(item.input, call);
  return isThenable(answer) ? Promise.resolve(answer).then(readAnswer) : readAnswer(answer);
}

function readAnswer(answer: unknown): ExecutionResult {
  const { output, usage } = splitUsage(answer);
  // Answers of the AI SDK have their text behind getters, which would be lost when they are stored.
  if (isGenerated(output)) return answered(trimAnswer(output), { usage: usage ?? readUsage(output) });
  // A function that answers nothing has an output all the same; undefined could not be stored.
  return answered(output ?? null, { usage });
}

function isGenerated(output: unknown): boolean {
  if (typeof output !== "object" || output === null || !("text" in output) || !("steps" in output)) return false;
  return !Object.hasOwn(output, "text");
}
