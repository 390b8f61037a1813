import type { EnvironmentProvider } from "../environments/environment.ts";
import type { JobRun } from "../jobs/job-run.ts";
import type { Terminal } from "./terminal.ts";

const mostKept = 5;

/** Says which environments of a job are still there, how to enter and how to remove them; `quiet` leaves out what was wished for. */
export function printEnvironments(
  { kept, leftBehind }: Pick<JobRun, "kept" | "leftBehind">,
  provider: EnvironmentProvider,
  quiet: boolean,
  terminal: Terminal,
): void {
  if (!quiet) for (const line of keptLines(kept)) terminal.err(`${line}\n`);
  for (const id of leftBehind) {
    const command = provider.removeCommand(id);
    terminal.err(
      `rollout: environment ${id} was left behind${command === null ? "" : `; remove it with: ${command}`}\n`,
    );
  }
  if (leftBehind.some((id) => provider.removeCommand(id) !== null))
    terminal.err("rollout: or remove all that is left with: rollout clean\n");
}

function keptLines(kept: JobRun["kept"]): string[] {
  const shown = kept
    .slice(0, mostKept)
    .map(({ id, enter }) => `kept environment ${id}${enter === null ? "" : `; enter it with: ${enter}`}`);
  return kept.length > mostKept
    ? [...shown, `and ${kept.length - mostKept} more: each trial's result.json names its own`]
    : shown;
}
