import type { Interval } from "../analysis/interval.ts";
import type { GitState } from "../base/git-state.ts";
import type { Json, JsonObject } from "../base/json.ts";

/** The feature that made a run. */
export type RunKind = "job" | "dataset" | "experiment";

/**
 * `interrupted`: the process died before the run ended. `failed`: an error ended the run early.
 * A run whose units all failed is `completed`.
 */
export const runStatuses = [
  "running",
  "paused",
  "completed",
  "cancelled",
  "budget_exhausted",
  "interrupted",
  "failed",
] as const;

export type RunStatus = (typeof runStatuses)[number];

/** Where a failure comes from. Failures of `agent`, `task` and `executor` count as not passed, the others are left out. */
export const failureCauses = [
  "agent",
  "task",
  "executor",
  "configuration",
  "infrastructure",
  "rollout",
  "cancelled",
] as const;

export type FailureCause = (typeof failureCauses)[number];

/** Why a unit has no result. `createFailure` makes one. */
export interface Failure {
  /** `agent_execution_timeout`, `target_failed`, … */
  readonly type: string;
  readonly message: string;
  /** The phase that was running; null if there was none. */
  readonly phase: string | null;
  readonly cause: FailureCause;
  /** Equal for failures that differ only in numbers, paths, quoted text and times. */
  readonly fingerprint: string;
}

/** A number that a verifier, a scorer or an evaluator gave a unit. */
export interface Score {
  readonly name: string;
  /** Null if no score was given. */
  readonly value: number | null;
  /** A word for the value: `correct`. */
  readonly label?: string | undefined;
  readonly reason?: string | undefined;
  /** Why the scorer failed. */
  readonly error?: string | undefined;
  readonly metadata?: JsonObject | undefined;
}

export interface UnitPhase {
  readonly name: string;
  /** Null if the phase was not reached. */
  readonly durationSec: number | null;
}

/** What a model was asked for and what it cost; null for what is unknown. */
export interface Usage {
  readonly inputTokens: number | null;
  readonly outputTokens: number | null;
  readonly costUsd: number | null;
}

/** A file of a unit. */
export interface Artifact {
  /** Unique in its unit: `command/stdout.txt`. */
  readonly name: string;
  readonly size: number;
  readonly mediaType: string;
}

/** A value that was too large to be returned with its unit. */
export interface Truncation {
  readonly field: "input" | "expected" | "output";
  /** The size of its JSON. */
  readonly bytes: number;
  /** The artifact that holds all of it. */
  readonly artifact: string;
}

/** `cancelled`: the end of the run cut the unit off, and it runs again when the run is resumed. */
export const unitStatuses = ["completed", "failed", "cancelled"] as const;

export type UnitStatus = (typeof unitStatuses)[number];

interface UnitFacts {
  /** Its place in the plan of the run, from 0. */
  readonly index: number;
  /** Unique in the run: `agent/dataset/task__1`, `item-7#2`. */
  readonly key: string;
  /** `{ agent, dataset, task, attempt }` for a trial. */
  readonly labels: Readonly<Record<string, string>>;
  readonly status: UnitStatus;
  /** In order; empty for a feature without phases. */
  readonly phases: readonly UnitPhase[];
  readonly usage: Usage | null;
  /** Everything the unit cost, in US dollars; null when unknown. */
  readonly spendUsd: number | null;
  /** 1 + retries. */
  readonly tries: number;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Milliseconds since the epoch; null when only the duration is known. */
  readonly endedAt: number | null;
  readonly durationSec: number;
}

/** One finished unit: a trial, an item, or an example with its repetition. */
export interface Unit extends UnitFacts {
  readonly scores: readonly Score[];
  readonly failure: Failure | null;
  readonly input?: Json | undefined;
  readonly expected?: Json | undefined;
  readonly output?: Json | undefined;
  /** Values that were cut; `RunSource.unit` cuts values of more than 64 KB. */
  readonly truncated?: readonly Truncation[] | undefined;
  readonly artifacts: readonly Artifact[];
  readonly warnings: readonly string[];
  /** Reasons not to trust the scores; empty if there are none. */
  readonly untrusted: readonly string[];
  /** Facts of one feature only, with names in snake_case. */
  readonly details: JsonObject;
}

/** A unit without its texts, for tables: at most about 1 KB. */
export interface UnitRow extends UnitFacts {
  readonly scores: readonly { readonly name: string; readonly value: number | null }[];
  readonly failure: Omit<Failure, "message"> | null;
  readonly isUntrusted: boolean;
  readonly warningCount: number;
  readonly artifactCount: number;
}

/** How reports lay out a run. */
export interface RunShape {
  /** Labels that make a row of the table, in order: `["agent", "dataset"]`. */
  readonly groupBy: readonly string[];
  /** The label that names what is measured: `task`. Intervals treat it as the unit of analysis. */
  readonly itemLabel: string;
  /** The score the run is about: `reward`. Empty if nothing is scored. */
  readonly scoreName: string;
  /** Further scores of a unit; each gets a row of its own. */
  readonly otherScores?: readonly string[] | undefined;
  /** False where most units have no known cost: only known costs are shown. Default: true. */
  readonly showsCost?: boolean | undefined;
  /** A score of at least this passes. */
  readonly passAt: number;
  /** The score comes from a scorer: reports name the passing score and print the mean of a graded one first. */
  readonly isScore?: boolean | undefined;
  /** The number of items when units are repeats of items. */
  readonly itemCount?: number | undefined;
  /** `trial`, `item`, … */
  readonly unitNoun: string;
}

/** A planned row of the report, so that a row without a finished unit is shown too. */
export interface PlannedGroup {
  readonly labels: Readonly<Record<string, string>>;
  readonly total: number;
}

/** One limit of a run's budget, before the first unit starts. */
export interface PlannedBudget {
  /** The key in the job file: `cost_usd`. */
  readonly name: string;
  readonly limit: number;
  /** Spent in earlier sessions. */
  readonly spent: number;
  /** Upper bound of the known part; null when nothing is known. */
  readonly atMost: number | null;
  /** What the bound leaves out because it is unknown in advance. */
  readonly unknown: readonly string[];
}

export interface RunPlan {
  /** Units in total. */
  readonly total: number;
  readonly concurrency: number;
  /** In display order. */
  readonly groups: readonly PlannedGroup[];
  readonly budget: readonly PlannedBudget[];
  /** Aggregates to show: `mean`, `sum`, `min`, `max`. */
  readonly metrics: readonly string[];
}

/** A stretch of time in which a process worked on a run. */
export interface RunSession {
  readonly startedAt: number;
  /** Null while it runs, and if its process died. */
  readonly endedAt: number | null;
  readonly durationSec: number;
}

export interface RunCounts {
  readonly finished: number;
  readonly completed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly untrusted: number;
}

/** The number people read first, with its interval and denominator. */
export interface RunHeadline {
  /** `reward`, or the name of the first scorer. */
  readonly score: string;
  /** `mean` for a score with values between 0 and 1, or others. */
  readonly measure: "pass_rate" | "mean";
  /** Null if nothing counts. */
  readonly value: number | null;
  readonly interval: Interval | null;
  readonly passed: number;
  readonly counted: number;
  /** Finished units that do not count, by reason: `infrastructure`, `cancelled`, … */
  readonly excluded: Readonly<Record<string, number>>;
}

/** The headline of one row of the report. */
export interface RunGroup {
  readonly labels: Readonly<Record<string, string>>;
  readonly headline: RunHeadline;
}

export interface RunDataset {
  readonly name: string;
  /** In the store; null elsewhere. */
  readonly id: string | null;
  readonly version: string | null;
}

/** A job, a dataset run or an experiment, without its units. */
export interface Run {
  readonly id: string;
  readonly kind: RunKind;
  readonly name: string;
  readonly description: string | null;
  readonly status: RunStatus;
  /** Something is left to do: units that did not run, or that can be run again. */
  readonly isResumable: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Null until the last session ends. */
  readonly endedAt: number | null;
  readonly sessions: readonly RunSession[];
  /** The process that works on the run; null if none does. */
  readonly owner: { readonly pid: number; readonly hostname: string } | null;
  readonly shape: RunShape;
  readonly plan: RunPlan;
  readonly counts: RunCounts;
  /** Null if nothing is scored. */
  readonly headline: RunHeadline | null;
  /** The headlines of rows, where a run has several. */
  readonly groups: readonly RunGroup[];
  /** Known costs of all units, in US dollars. */
  readonly spendUsd: number;
  /** Units whose cost is unknown. */
  readonly unknownSpends: number;
  /** Scores of the run as a whole. */
  readonly scores: readonly Score[];
  /** What was run: agents, the target, the experiment. */
  readonly targets: readonly string[];
  readonly datasets: readonly RunDataset[];
  /** The directory or the store that holds the run, as a person would type it. */
  readonly location: string;
  readonly params: JsonObject;
  readonly tags: Readonly<Record<string, string>>;
  /** The state of the working directory when the run was created; null outside a git repository. */
  readonly git: GitState | null;
  readonly rolloutVersion: string;
  /** The error that ended the run early. */
  readonly error: string | null;
  readonly warnings: readonly string[];
  /** Remarks for people, a line each. */
  readonly notes: readonly string[];
  /** Facts of one feature only, with names in snake_case. */
  readonly details: JsonObject;
}

/** What happens in a run, in order; each event is plain JSON. `at` is milliseconds since the epoch. */
export type RunEvent = { readonly at: number } & (
  | { readonly type: "run_started"; readonly run: Run }
  | { readonly type: "unit_started"; readonly key: string; readonly labels: Readonly<Record<string, string>> }
  | { readonly type: "unit_phase"; readonly key: string; readonly phase: string }
  /** The last complete line that a unit printed; sent rarely. */
  | { readonly type: "unit_activity"; readonly key: string; readonly line: string }
  | {
      readonly type: "unit_retry";
      readonly key: string;
      readonly tries: number;
      readonly waitMs: number;
      readonly failure: Failure;
    }
  | { readonly type: "unit_finished"; readonly unit: Unit }
  /** A unit that an earlier session finished. */
  | { readonly type: "unit_restored"; readonly unit: Unit }
  /** Work that many units share, such as an image build. With a key: what that unit waits for. */
  | { readonly type: "run_activity"; readonly line: string; readonly key?: string | undefined }
  /** Running units finish, no new ones start. */
  | { readonly type: "run_paused" }
  | { readonly type: "run_continued" }
  | { readonly type: "warning"; readonly message: string }
  | {
      readonly type: "run_stopping";
      readonly reason: string;
      readonly running: number;
      readonly isTerminating: boolean;
    }
  /** `next`: commands to type next. */
  | { readonly type: "run_finished"; readonly run: Run; readonly next: readonly string[] }
);

export type RunListener = (event: RunEvent) => void;

const countedCauses: readonly FailureCause[] = ["agent", "task", "executor"];
// The task was at fault, but the unit never ran.
const refusedTypes: readonly string[] = ["task_invalid", "task_not_found"];

/** Returns why a failed unit is left out of the headline; null for a failure that counts as not passed. */
export function exclusionOf({ type, cause }: Pick<Failure, "type" | "cause">): string | null {
  if (refusedTypes.includes(type)) return type;
  return countedCauses.includes(cause) ? null : cause;
}

/** Returns the value of a score; null if the unit does not have it. */
export function scoreOf(unit: Pick<UnitRow, "scores">, name: string): number | null {
  const value = unit.scores.find((score) => score.name === name)?.value ?? null;
  return value !== null && Number.isFinite(value) ? value : null;
}

/** Returns the duration of all sessions of a run. */
export function durationSecOf({ sessions }: Pick<Run, "sessions">): number {
  return sessions.reduce((sum, { durationSec }) => sum + durationSec, 0);
}

/** Facts about a run that its caller supplies. */
export type RunOrigin = Pick<Run, "description" | "tags" | "git" | "rolloutVersion">;
