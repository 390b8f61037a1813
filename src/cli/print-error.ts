import { formatProblem, type Problem } from "../base/problem.ts";
import { messageOf, RolloutError, systemCodeOf } from "../base/rollout-error.ts";
import { shownPath } from "../base/shown-path.ts";
import { plainText } from "../base/terminal-text.ts";
import { exitCodeOf, exitCodeOfSignal, exitCodes } from "./exit-codes.ts";
import { Interruption } from "./interrupts.ts";
import type { Terminal } from "./terminal.ts";

const fullDisk: readonly string[] = ["ENOSPC", "EDQUOT"];

/** Says what went wrong in words a person can act on, and returns the exit code it stands for. */
export function printError(error: unknown, terminal: Terminal, cwd: string): number {
  if (error instanceof RolloutError) {
    printProblems(error.problems, terminal, cwd);
    for (const line of error.details ?? []) terminal.err(`${plainText(line)}\n`);
    terminal.err(`rollout: ${plainText(error.message)}\n`);
    if (error.hint !== undefined) terminal.err(`  ${plainText(error.hint)}\n`);
    return exitCodeOf(error.code);
  }
  if (error instanceof Interruption) {
    terminal.err(`rollout: ${error.message}\n`);
    return exitCodeOfSignal(error.signalName);
  }
  const code = systemCodeOf(error);
  if (code !== undefined && !code.startsWith("ERR_")) {
    terminal.err(`rollout: ${plainText(messageOf(error))}\n`);
    if (fullDisk.includes(code))
      terminal.err(
        "  the disk is full; what was finished before is still there; make room and go on with: rollout resume <job directory>\n",
      );
    return exitCodes.bug;
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : messageOf(error);
  terminal.err(`rollout: this is a bug in rollout; please report it with the lines below\n${stack}\n`);
  return exitCodes.bug;
}

/** One line for each problem, in the order of the file. */
export function printProblems(problems: readonly Problem[], terminal: Terminal, cwd: string): void {
  for (const problem of problems) terminal.err(`${problemLine(problem, cwd)}\n`);
}

/** A problem as a person in `cwd` reads it. */
export function problemLine(problem: Problem, cwd: string): string {
  return plainText(formatProblem({ ...problem, file: shownPath(problem.file, cwd) }));
}
