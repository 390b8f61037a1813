import { messageOf } from "../../base/rollout-error.ts";
import { answered, failed } from "./execution-result.ts";
import { readField, readText } from "./read-field.ts";
import { readUsage, trimAnswer } from "./trim-answer.ts";
import type { TargetCall } from "./target-call.ts";
import type { AgentCall, ExecutionResult } from "./target.ts";

interface CallableAgent {
  generate(input: unknown, options?: AgentCall): unknown;
  generateLegacy?(input: unknown, options: AgentCall): unknown;
  getModel?(): unknown;
}

/** Lets an agent generate an answer to an item's input, with its own scorers turned off. */
export async function executeAgent({ target, item, signal }: TargetCall): Promise<ExecutionResult> {
  const agent = target.target as CallableAgent;
  const options: AgentCall = { scorers: {}, returnScorerData: true, abortSignal: signal };
  const result = await generate(agent, item.input, options);
  const failure = findFailure(result);
  if (failure !== null) return failure;
  const scoring = readField(result, "scoringData");
  return answered(trimAnswer(result), {
    traceId: readText(result, "traceId"),
    scorerInput: readField(scoring, "input"),
    scorerOutput: readField(scoring, "output"),
    usage: readUsage(result),
  });
}

async function generate(agent: CallableAgent, input: unknown, options: AgentCall): Promise<unknown> {
  // Agents of the AI SDK take their input and their options in one.
  if (readText(agent, "version")?.startsWith("agent-v") === true)
    return await agent.generate({ ...asPrompt(input), abortSignal: options.abortSignal });
  return (await hasSupportedModel(agent))
    ? await agent.generate(input, options)
    : await generateLegacy(agent, input, options);
}

function asPrompt(input: unknown): object {
  if (Array.isArray(input)) return { messages: input };
  return typeof input === "object" && input !== null ? input : { prompt: String(input) };
}

/** An agent that gave up without throwing has not succeeded. */
function findFailure(result: unknown): ExecutionResult | null {
  const error = readField(result, "error");
  if (error !== undefined && error !== null) return failed(readText(error, "message") ?? messageOf(error), error);
  const tripwire = readField(result, "tripwire");
  if (tripwire !== undefined && tripwire !== null)
    return failed(`the agent was stopped by a tripwire: ${readText(tripwire, "reason") ?? "no reason given"}`, null);
  return readText(result, "finishReason") === "aborted" ? failed("the agent was aborted", null) : null;
}

async function hasSupportedModel(agent: CallableAgent): Promise<boolean> {
  if (typeof agent.getModel !== "function") return true;
  const model: unknown = await agent.getModel();
  return typeof model === "object" && model !== null && readField(model, "specificationVersion") !== "v1";
}

async function generateLegacy(agent: CallableAgent, input: unknown, options: AgentCall): Promise<unknown> {
  const result = await agent.generateLegacy?.(input, options);
  if (result === undefined || result === null)
    throw new Error("the agent's model needs generateLegacy, which the agent does not have");
  return result;
}
