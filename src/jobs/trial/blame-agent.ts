import { mkdtemp, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Environment } from "../../environments/environment.ts";
import { callEnvironment } from "./call-environment.ts";
import type { Failure } from "./failure.ts";
import type { TryState } from "./try-state.ts";

const maxCommandLength = 80;
const hookLimits = { entries: 100, bytes: 4 << 20 };

/**
 * Attributes a failed verification to the agent if the agent's processes were alive or the agent changed something that
 * the tests run with. Solutions of the task itself (`oracle`, `nop`) are never blamed.
 */
export async function blameAgent(
  failure: Failure,
  thrown: unknown,
  state: TryState,
  environment: Environment | null,
): Promise<Failure> {
  const { trial, step, verifierEnvironment } = state;
  const isBuiltIn = trial.agent.name === "oracle" || trial.agent.name === "nop";
  if (step !== "verify" || verifierEnvironment !== null || environment === null || isBuiltIn) return failure;
  const isEnded = thrown instanceof RolloutError && thrown.code === "environment_ended";
  if (!isEnded && (failure.cause !== null || !failure.type.startsWith("verifier_"))) return failure;
  const reason = describeLeftovers(state) ?? (isEnded ? null : await describeChanges(state, environment));
  if (reason === null) return failure;
  return {
    ...failure,
    message: `${failure.message}; ${reason}`,
    detail: `${failure.detail}\n${reason}`,
    cause: "agent",
  };
}

function describeLeftovers({ leftovers, areLeftoversEnded }: TryState): string | null {
  if (leftovers.length === 0 || areLeftoversEnded) return null;
  const commands = leftovers.slice(0, 3).map(({ command }) => command.slice(0, maxCommandLength));
  return `processes of the agent were running: ${commands.join("; ")}`;
}

async function describeChanges(state: TryState, environment: Environment): Promise<string | null> {
  if (!state.context.provider.capabilities.shell) return null;
  const hooks = await findGitHooks(state, environment).catch(() => []);
  const changed = [...state.changedTools, ...hooks];
  return changed.length === 0 ? null : `the agent had changed ${changed.join(", ")}`;
}

/** Returns the active git hooks of the working directory: every git command of the tests runs them. */
async function findGitHooks({ context, paths }: TryState, environment: Environment): Promise<string[]> {
  const source = `${environment.workdir.replace(/\/$/, "")}/.git/hooks`;
  const staging = await mkdtemp(join(paths.dir, ".hooks-"));
  try {
    const target = join(staging, "hooks");
    await callEnvironment(context, "reading git hooks", (signal) =>
      environment.copyFrom({ source, target, limits: hookLimits, signal }),
    );
    return (await readdir(target)).filter((name) => !name.endsWith(".sample")).map((name) => `${source}/${name}`);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}
