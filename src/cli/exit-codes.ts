import type { ErrorCode } from "../base/rollout-error.ts";
import type { TaskVerdict } from "../jobs/check/task-verdict.ts";
import type { JobResultFile } from "../jobs/output/job-result-schema.ts";
import type { SignalName } from "./interrupts.ts";

/** What the command's exit code says; the same for everything the command runs. */
export const exitCodes = {
  /** Every unit has its reward, output and scores. */
  done: 0,
  /** A gate was not met. */
  gate: 1,
  /** Bad command or configuration; nothing was started. */
  usage: 2,
  /** Finished, but some units have no mark. */
  incomplete: 3,
  /** Stopped by a budget. */
  budget: 4,
  /** A bug of ours, or a machine that does not let us work. */
  bug: 70,
} as const;

// 128 and the number of the signal, as shells have it.
const signalCodes: Readonly<Record<SignalName, number>> = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 };

/** The exit code of an error that was thrown on purpose. */
export function exitCodeOf(code: ErrorCode): number {
  if (code === "budget_spent") return exitCodes.budget;
  return code === "io_failed" ? exitCodes.bug : exitCodes.usage;
}

/** The exit code of a command that a signal ended. */
export function exitCodeOfSignal(signalName: SignalName): number {
  return signalCodes[signalName];
}

/** The exit code of a finished job. */
export function exitCodeOfJob(result: JobResultFile, signalName: SignalName | null): number {
  if (result.cancelled) return exitCodeOfSignal(signalName ?? "SIGINT");
  if (result.stopped_by_budget) return exitCodes.budget;
  return result.failed_trials + result.skipped_trials > 0 ? exitCodes.incomplete : exitCodes.done;
}

/** The exit code of a check. */
export function exitCodeOfCheck(
  verdicts: readonly TaskVerdict[],
  isStoppedByBudget: boolean,
  signalName: SignalName | null,
): number {
  if (signalName !== null) return exitCodeOfSignal(signalName);
  if (verdicts.some(({ verdict }) => verdict !== "ok" && verdict !== "not_judged")) return exitCodes.gate;
  if (isStoppedByBudget) return exitCodes.budget;
  return verdicts.some(({ verdict }) => verdict === "not_judged") ? exitCodes.incomplete : exitCodes.done;
}
