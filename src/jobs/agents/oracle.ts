import { join } from "node:path";
import type { AgentSteps } from "./agent-step.ts";

// The link goes before its run is over, where a command of its own would cost a container as much as the solution.
const script = 'bash "$1"; status=$?; [ -L /solution ] && rm -f /solution 2>/dev/null; exit "$status"';

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
      await workspace.run(["bash", "-c", script, "oracle", "/oracle/solve.sh"]);
      // What the image's user may not remove, or the solution has put there instead.
      await workspace.place([{ kind: "remove", target: "/solution" }]);
    },
  };
}
