import type { Agent } from "../config/job.ts";
import type { AgentSteps } from "./agent-step.ts";
import { nop } from "./nop.ts";
import { oracle } from "./oracle.ts";
import { scriptAgent } from "./script-agent.ts";

/** The steps of a job's agent: a built-in one by its reserved name, else its scripts. */
export function findAgent(agent: Agent, taskDirectory: string): AgentSteps {
  if (agent.name === "oracle") return oracle(taskDirectory);
  if (agent.name === "nop") return nop;
  return scriptAgent(agent);
}
