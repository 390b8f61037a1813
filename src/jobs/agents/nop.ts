import type { AgentSteps } from "./agent-step.ts";

/** The agent that does nothing, to show that a task does not pass untouched. */
export const nop: AgentSteps = { setup: null, execute: async () => {} };
