import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { withDeadline } from "../../engine/with-deadline.ts";
import type { Environment, Placement, SnapshotFile } from "../../environments/environment.ts";
import { scratchDir } from "../agents/script-agent.ts";
import { callEnvironment } from "../trial/call-environment.ts";
import type { TryState } from "../trial/try-state.ts";
import type { InstallTurn } from "./install-cache.ts";

const killGraceMs = 30_000;

/** Keeps what an install that ended well has left, when nothing speaks against it; the trial goes on either way. */
export async function bakeInstall(
  state: TryState,
  environment: Environment,
  turn: InstallTurn & { readonly kind: "bake" },
  instruction: Placement,
): Promise<void> {
  const { context, trial } = state;
  const { installs } = context;
  const objection = await findObjection(state, environment);
  if (objection !== null) return installs.refuse(trial.agent, turn.key, objection);
  const place = (items: readonly Placement[]): Promise<void> =>
    callEnvironment(context, "copying files", (signal) => environment.copyTo(items, signal));
  // The task's own files are no part of an install.
  await place([scratchDir, instruction.target].map((target) => ({ kind: "remove", target })));
  try {
    turn.settle(await save(state, environment, turn.key));
  } catch (error) {
    context.signal.throwIfAborted();
    if (error instanceof RolloutError && error.code === "environment_lost") throw error;
    if (error instanceof RolloutError && error.code === "unsupported")
      installs.refuse(trial.agent, turn.key, error.message);
    else installs.warn(trial.agent, messageOf(error));
  }
  await place([instruction]);
}

async function save(state: TryState, environment: Environment, key: string): Promise<string | null> {
  const { context, trial, limits } = state;
  const { clock, signal: parent, installs } = context;
  const examine = async (file: SnapshotFile): Promise<boolean> => {
    const name = await installs.secretIn(file);
    if (name !== null) installs.refuse(trial.agent, key, `it wrote the value of ${name} to ${file.path}`);
    return name === null;
  };
  const limit = { clock, limitMs: limits.imageMs, parent, what: "saving the install", graceMs: killGraceMs };
  return withDeadline(limit, async (signal) => (await environment.snapshot?.({ key, examine, signal })) ?? null);
}

// A trial that starts from a snapshot would lack the one and not show the other.
async function findObjection({ context }: TryState, environment: Environment): Promise<string | null> {
  const running = await callEnvironment(context, "listing processes", (signal) => environment.listProcesses(signal));
  if (running.length > 0) return `it left ${running.map(({ command }) => command).join(", ")} running`;
  const look = async (signal: AbortSignal): Promise<readonly string[]> =>
    (await environment.changedTools?.(signal)) ?? [];
  const changed = await callEnvironment(context, "looking at the tools", look);
  return changed.length > 0 ? `it changed ${changed.join(", ")}, with which the tests run` : null;
}
