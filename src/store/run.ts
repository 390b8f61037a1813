import type { JsonObject } from "../base/json.ts";

/** What all three doors share: a run is a set of units, each marked or failed. Doors map their own words to these. */
export type RunKind = "job" | "dataset" | "experiment";

/** A number somebody gave a unit: a reward, a score. Null means that it was not marked. */
export interface Mark {
  readonly name: string;
  readonly value: number | null;
  /** What it is called beside its number. */
  readonly label?: string | undefined;
}

/** Who is to answer for a failure; `nobody` for one that was asked for. */
export type Blame = "agent" | "task" | "executor" | "configuration" | "infrastructure" | "rollout" | "nobody";

/** What a unit honestly ended with instead of a mark. */
export interface UnitFailure {
  readonly type: string;
  readonly message: string;
  /** `infrastructure`, or `configuration`, when neither what was measured nor its task is to blame. */
  readonly cause?: string | null | undefined;
  readonly blame?: Blame | undefined;
}

const countedBlames: readonly Blame[] = ["agent", "task", "executor"];
// The unit never ran, although its task is to blame.
const refusedTypes: readonly string[] = ["task_invalid", "task_not_found"];

/** Returns why a failed unit is left out of the headline; null for a failure that counts as not passed. */
export function exclusionOf({ type, blame = "agent" }: UnitFailure): string | null {
  if (refusedTypes.includes(type)) return type;
  if (countedBlames.includes(blame)) return null;
  return blame === "nobody" ? "cancelled" : blame;
}

export interface UnitPhase {
  readonly name: string;
  /** Null when the phase was not reached. */
  readonly durationSec: number | null;
}

/** One finished unit: a trial, an item, an example with its repetition. */
export interface Unit {
  readonly key: string;
  /** Where it belongs: `{ agent, dataset, task, attempt }` for a trial. */
  readonly labels: Readonly<Record<string, string>>;
  readonly marks: readonly Mark[];
  readonly failure: UnitFailure | null;
  readonly phases: readonly UnitPhase[];
  readonly durationSec: number;
  /** US dollars; null when unknown. */
  readonly cost: number | null;
  readonly tries: number;
  /** What came out of it, as JSON; absent where a unit has no output of its own. */
  readonly outputJson?: string | undefined;
  /** Somebody found a reason not to rely on its marks. */
  readonly isUntrusted?: boolean | undefined;
  readonly warnings: readonly string[];
}

/** How a report should lay a run out. */
export interface RunShape {
  /** Labels that make a row of the table, in order: `["agent", "dataset"]`. */
  readonly groupBy: readonly string[];
  /** The label that names what is measured: `task`. Intervals treat it as the unit of analysis. */
  readonly itemLabel: string;
  /** The mark the run is about: `reward`. */
  readonly markName: string;
  /** What else a unit is marked with; each gets a row of its own. */
  readonly otherMarks?: readonly string[] | undefined;
  /** False where most units cost nothing that anybody could know: only costs that are known are told. */
  readonly tellsCost?: boolean | undefined;
  /** A mark of at least this passes. */
  readonly passAt: number;
  /** The mark is a scorer's: a report says what passes, and puts the mean of one with grades first. */
  readonly isScore?: boolean | undefined;
  /** How many items the units are repeats of; absent where each unit is an item of its own. */
  readonly itemCount?: number | undefined;
  /** What one unit is called: `trial`. */
  readonly unitNoun: string;
}

/** A row of the report as planned, so that one that never ran a unit is still seen. */
export interface PlannedGroup {
  readonly labels: Readonly<Record<string, string>>;
  readonly total: number;
}

/** One limit of a run's budget, before the first unit starts. */
export interface PlannedBudget {
  /** As the job file calls it: `cost_usd`. */
  readonly name: string;
  readonly limit: number;
  /** In earlier sessions. */
  readonly spent: number;
  /** The most that the known part may come to; null when nothing is known. */
  readonly atMost: number | null;
  /** What that does not count, because nobody knows it ahead. */
  readonly unknown: readonly string[];
}

export interface RunHead {
  readonly id: string;
  readonly kind: RunKind;
  readonly name: string;
  readonly total: number;
  /** The rows in the order to show them; absent when the plan is not known ahead. */
  readonly groups?: readonly PlannedGroup[] | undefined;
  readonly concurrency: number;
  /** Empty without one. */
  readonly budget?: readonly PlannedBudget[] | undefined;
  readonly shape: RunShape;
  /** Aggregates to show live: `mean`, `sum`, `min`, `max`. */
  readonly metrics: readonly string[];
  /** What it was given; absent where there is no such thing. */
  readonly params?: JsonObject | undefined;
  /** Where its files are, as a person would type it. */
  readonly location: string;
}

/** `unfinished` is said of a run that is looked at while it runs, or whose process died. */
export type RunStatus = "completed" | "cancelled" | "budget_exhausted" | "unfinished";

/** A mark of a run as a whole; `note` is its reason, or why there is none. */
export interface WholeMark extends Mark {
  readonly note: string | null;
}

export interface RunTail {
  readonly status: RunStatus;
  readonly skipped: number;
  /** It came to its end, and every unit failed. */
  readonly hasFailed?: boolean | undefined;
  readonly durationSec: number;
  /** How often the run was taken up; its duration is that of all of them. */
  readonly sessions: number;
  /** What was said of the run as a whole. */
  readonly wholeMarks?: readonly WholeMark[] | undefined;
  /** What else people should know of it, a line each. */
  readonly notes?: readonly string[] | undefined;
  /** Commands worth typing next. */
  readonly next: readonly string[];
}

/** What happens in a run, in order; each is plain JSON. `at` is milliseconds since the epoch. */
export type RunEvent =
  | { readonly type: "run_started"; readonly at: number; readonly run: RunHead }
  | {
      readonly type: "unit_started";
      readonly at: number;
      readonly key: string;
      readonly labels: Readonly<Record<string, string>>;
    }
  | { readonly type: "unit_phase"; readonly at: number; readonly key: string; readonly phase: string }
  /** The last whole line a unit printed; told rarely, for people to see that something moves. */
  | { readonly type: "unit_activity"; readonly at: number; readonly key: string; readonly line: string }
  | {
      readonly type: "unit_retry";
      readonly at: number;
      readonly key: string;
      readonly tries: number;
      readonly waitMs: number;
      readonly failure: UnitFailure;
    }
  | { readonly type: "unit_finished"; readonly at: number; readonly unit: Unit }
  /** A unit that an earlier session finished and that counts as it is. */
  | { readonly type: "unit_kept"; readonly at: number; readonly unit: Unit }
  /** Something shared by many units, an image being built or pulled; or what one of them waits for, which then has its key. */
  | { readonly type: "run_activity"; readonly at: number; readonly line: string; readonly key?: string }
  /** Somebody holds the run: what runs goes on, nothing new starts until it is continued. */
  | { readonly type: "run_paused"; readonly at: number }
  | { readonly type: "run_continued"; readonly at: number }
  | { readonly type: "warning"; readonly at: number; readonly message: string }
  | {
      readonly type: "run_stopping";
      readonly at: number;
      readonly reason: string;
      readonly running: number;
      readonly isTerminating: boolean;
    }
  | { readonly type: "run_finished"; readonly at: number; readonly tail: RunTail };

export type RunListener = (event: RunEvent) => void;
