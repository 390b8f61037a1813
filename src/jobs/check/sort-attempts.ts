import { isFailed } from "../output/trial-result-schema.ts";
import type { FailureType } from "../trial/failure.ts";
import type { AttemptCount, CheckedTrial } from "./task-verdict.ts";

/** The attempts of one agent at one task, by what they say about the task. */
export interface SortedAttempts {
  readonly passed: readonly CheckedTrial[];
  /** A reward below 1, or an error that is the solution's or the tests'. */
  readonly missed: readonly CheckedTrial[];
  /** Ended before any agent could start, through the task itself. */
  readonly broken: readonly CheckedTrial[];
  /** Say nothing about the task: infrastructure, a cancellation, a bug of ours. */
  readonly lost: readonly CheckedTrial[];
}

// Whatever else ends a trial before its agent starts is nobody's fault that a check could name.
const brokenTypes: readonly FailureType[] = [
  "task_invalid",
  "task_not_found",
  "environment_build_failed",
  "environment_build_timeout",
];

/** Sorts attempts by whether they speak for or against their task, or say nothing about it. */
export function sortAttempts(trials: readonly CheckedTrial[]): SortedAttempts {
  const of = (wanted: keyof SortedAttempts): CheckedTrial[] => trials.filter((trial) => placeOf(trial) === wanted);
  return { passed: of("passed"), missed: of("missed"), broken: of("broken"), lost: of("lost") };
}

/** How many attempts speak for or against the task, and how many passed. */
export function countAttempts({ passed, missed }: SortedAttempts): AttemptCount {
  return { judged: passed.length + missed.length, passed: passed.length };
}

function placeOf({ result }: CheckedTrial): keyof SortedAttempts {
  if (!isFailed(result) || result.error === null) {
    if (result.reward === null) return "lost";
    return result.reward >= 1 ? "passed" : "missed";
  }
  const { type, cause } = result.error;
  if (cause !== "task" && cause !== "agent") return "lost";
  return brokenTypes.includes(type) ? "broken" : "missed";
}
