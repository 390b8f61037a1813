import type { Agent } from "../config/job.ts";
import type { AgentSteps, Workspace } from "./agent-step.ts";

/** Where we put scripts of our own inside an environment; removed before the verifier looks at it. */
export const scratchDir = "/tmp/.rollout";

/** An agent defined by the two scripts of the job file. */
export function scriptAgent(agent: Agent): AgentSteps {
  const { install, execute } = agent;
  return {
    setup: install === null ? null : (workspace) => runScript(workspace, "install.sh", install),
    execute: (workspace) => runScript(workspace, "execute.sh", execute ?? ""),
  };
}

// As a file and not as an argument: arguments are limited to 128 KiB and shown in process lists.
async function runScript(workspace: Workspace, name: string, script: string): Promise<void> {
  const target = `${scratchDir}/${name}`;
  await workspace.place([{ kind: "file", content: script, target, mode: 0o755 }]);
  await workspace.run(["bash", target]);
}
