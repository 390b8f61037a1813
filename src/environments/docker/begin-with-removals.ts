import { randomUUID } from "node:crypto";
import { RolloutError } from "../../base/rollout-error.ts";
import type { ExecRequest } from "../environment.ts";
import type { ToolMarks } from "../integrity/tool-marks.ts";
import { isRoot } from "./is-root.ts";

// Chosen so that hardly any command ends with it by itself.
const refusedCode = 121;
// Takes the paths up to the second mark, then becomes the command, with the variables it was given.
const script = `rm=$1; shift; while [ "$1" != "$0" ]; do "$rm" -rf -- "$1" || exit ${refusedCode}; shift; done; shift; exec "$@"`;

/** The same command with removals ahead of it, which saves one of their own; null where it takes more than that. */
export function beginWithRemovals(
  request: ExecRequest,
  paths: readonly string[],
  user: string,
  tools: ToolMarks,
): ExecRequest | null {
  const rm = ["/usr/bin/rm", "/bin/rm"].find((path) => tools.has(path));
  // Only bash becomes another bash without a trace in its variables.
  if (!isRoot(user) || rm === undefined || request.command[0] !== "bash") return null;
  const mark = `rollout-${randomUUID()}`;
  const shell = ["bash", "--norc", "-p", "-c", script];
  return { ...request, command: [...shell, mark, rm, ...paths, mark, ...request.command] };
}

/** Rejects with `copy_failed` when such a command ended because something could not be removed. */
export async function assertRemoved(
  exitCode: number,
  paths: readonly string[],
  findStanding: (paths: readonly string[]) => Promise<readonly string[]>,
): Promise<void> {
  if (exitCode !== refusedCode) return;
  const left = await findStanding(paths);
  if (left.length > 0) throw new RolloutError("copy_failed", `cannot remove ${left.join(", ")} in the container`);
}
