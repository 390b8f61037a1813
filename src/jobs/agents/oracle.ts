import { join } from "node:path";
import type { AgentSteps } from "./agent-step.ts";

/** The agent that runs the task's own solution, to show that the task can be solved. */
export function oracle(taskDirectory: string): AgentSteps {
  return {
    setup: null,
    async execute(workspace) {
      await workspace.place([
        { kind: "tree", source: join(taskDirectory, "solution"), target: "/oracle" },
        // Public solutions name their folder /solution.
        { kind: "link", target: "/solution", to: "/oracle" },
      ]);
      await workspace.run(["bash", "/oracle/solve.sh"]);
      await workspace.place([{ kind: "remove", target: "/solution" }]);
    },
  };
}
