import type { Placement } from "../../environments/environment.ts";

/** The narrow handle an agent gets of its environment. */
export interface Workspace {
  place(items: readonly Placement[]): Promise<void>;
  /** Runs a command in the image's working directory with the agent's variables, captured and under its limit; true when it ended well. A failure is recorded by whoever gave this handle. */
  run(command: readonly string[]): Promise<boolean>;
}

/** How an agent sets itself up and works. */
export interface AgentSteps {
  /** Null when there is nothing to install. */
  readonly setup: ((workspace: Workspace) => Promise<void>) | null;
  readonly execute: (workspace: Workspace) => Promise<void>;
}
