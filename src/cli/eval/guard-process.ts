import { describeThrown } from "../../datasets/item/describe-thrown.ts";
import { exitCodes } from "../exit-codes.ts";
import type { RunReporter } from "../run-reporter.ts";

/** What code of a person's own did to the process while it ran. */
export interface ProcessGuard extends Disposable {
  /** Promises that were rejected with nobody waiting for them. */
  readonly strayErrors: number;
}

export interface GuardOptions {
  readonly process: NodeJS.Process;
  readonly reporter: RunReporter;
  /** What to type to go on. */
  readonly resumeCommand: string | null;
}

/** Keeps code of a person's own from ending the process in silence: it says so, and the exit code is not 0. */
export function guardProcess({ process, reporter, resumeCommand }: GuardOptions): ProcessGuard {
  let strayErrors = 0;
  const onStray = (thrown: unknown): void => {
    strayErrors++;
    reporter.say(`an error that nothing waited for: ${describeThrown(thrown)}`);
  };
  const onExit = (): void => {
    reporter[Symbol.dispose]();
    const next = resumeCommand === null ? "" : `; go on with: ${resumeCommand}`;
    reporter.say(`the process was ended from within, by process.exit or its like, before the run was over${next}`);
    if (!process.exitCode) process.exitCode = exitCodes.incomplete;
  };
  process.on("unhandledRejection", onStray);
  process.on("uncaughtException", onStray);
  process.on("exit", onExit);
  return {
    get strayErrors() {
      return strayErrors;
    },
    [Symbol.dispose]() {
      process.off("unhandledRejection", onStray);
      process.off("uncaughtException", onStray);
      process.off("exit", onExit);
    },
  };
}
