import type { RawJson } from "../../base/raw-json.ts";

/** One input of an experiment, as it is written in its dataset. */
export interface Example {
  readonly id: string;
  readonly input: RawJson;
  /** What is expected. */
  readonly output: RawJson | null;
  readonly metadata: RawJson | null;
}

/** One example, once. */
export interface PlannedRun {
  /** Its place among all runs, from 0. */
  readonly index: number;
  readonly runId: string;
  readonly example: Example;
  /** From 1. */
  readonly repetition: number;
}

/** Why a task has no output. */
export type FailureType = "task_failed" | "task_timeout" | "executor_lost";

/** `<id>#<n>` */
export function runIdOf(exampleId: string, repetition: number): string {
  return `${exampleId}#${repetition}`;
}
