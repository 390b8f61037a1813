import type { Json, JsonObject } from "../base/json.ts";
import type { ProcessOwner } from "../base/process-owner.ts";
import type { RunKind } from "./run.ts";
import type { Page, PageWish } from "./store.ts";

/** What a run of a dataset or an experiment is about, fixed when it begins. */
export interface RunPlan {
  readonly id: string;
  readonly kind: RunKind;
  readonly name: string;
  /** Null for items that were given in code. */
  readonly datasetId: string | null;
  readonly datasetVersion: number | null;
  /** Units in all: items x repeats. */
  readonly total: number;
  /** What must be the same for the run to be taken up again, in its door's own words. */
  readonly identity: JsonObject;
  /** What is worth knowing and may differ. */
  readonly metadata: JsonObject;
}

export type StoredRunStatus = "running" | "completed" | "failed";

/** How a run ended, or how far it came. */
export interface RunEnd {
  readonly status: Exclude<StoredRunStatus, "running">;
  /** Every unit has a result of its own; otherwise the run can be taken up again. */
  readonly isFinished: boolean;
  readonly succeeded: number;
  readonly failed: number;
  /** Why it ended early. */
  readonly error: string | null;
  /** Aggregates, in its door's own words. */
  readonly summary: Json;
}

export interface RunRecord extends RunPlan, Omit<RunEnd, "status"> {
  readonly status: StoredRunStatus;
  /** Somebody holds it and gave a sign not long ago. A run that is `running` and not held was left by a process that died. */
  readonly isHeld: boolean;
  readonly holder: ProcessOwner | null;
  readonly createdAt: number;
  /** Null unless it ended. */
  readonly endedAt: number | null;
}

/** `interrupted` is a unit that the end of a run cut off: it failed, and runs again when the run is taken up. */
export type ResultStatus = "succeeded" | "failed" | "interrupted";

/** What became of one unit. */
export interface StoredResult {
  /** Its place in the run's order, from 0; one result for each. */
  readonly index: number;
  readonly itemId: string;
  /** From 1. */
  readonly repeat: number;
  readonly itemVersion: number;
  readonly status: ResultStatus;
  readonly input: Json;
  readonly output: Json;
  readonly expectedOutput?: Json | undefined;
  readonly error: JsonObject | null;
  readonly startedAt: number;
  readonly completedAt: number;
  readonly retryCount: number;
  readonly traceId: string | null;
  /** Everything else its door wants to keep: usage, metadata, captured output. */
  readonly extra: JsonObject;
}

/** What one scorer said of one unit. */
export interface StoredScore {
  readonly index: number;
  readonly scorerId: string;
  readonly scorerName: string;
  readonly score: number | null;
  readonly reason: string | null;
  readonly error: string | null;
  readonly extra: JsonObject;
}

export interface ResultWithScores {
  readonly result: StoredResult;
  /** In the order in which they were written. */
  readonly scores: readonly StoredScore[];
}

/** Results and scores that are written together or not at all; what is there for the same unit (and scorer) is replaced. */
export interface ResultBatch {
  readonly results: readonly StoredResult[];
  readonly scores: readonly StoredScore[];
}

/** The right to write to a run. Only one process has it; all its calls reject with `in_use` once somebody else took it. */
export interface RunHold {
  readonly run: RunRecord;
  /** Gives a sign of life; whoever gives none for `holdLapsesMs` may lose the run to another process. */
  beat(): Promise<void>;
  /** Committed when it resolves: what it wrote survives the death of the process. */
  write(batch: ResultBatch): Promise<void>;
  /** Removes what was written of these units, so that they can run again. */
  forget(indexes: readonly number[]): Promise<void>;
  /** The run's last word; it is nobody's afterwards. */
  end(end: RunEnd): Promise<void>;
}

/** Without a sign for this long a holder of another machine is taken for dead; one of this machine is asked. */
export const holdLapsesMs = 60_000;

export interface RunFilter {
  readonly kind?: RunKind | undefined;
  readonly datasetId?: string | undefined;
}

/** Runs and their results. Unknown ids reject with `not_found`. */
export interface RunStore {
  /** Begins a run and holds it; rejects with `already_exists` for a known id. */
  begin(plan: RunPlan, owner: ProcessOwner): Promise<RunHold>;
  /**
   * Takes up a run that nobody alive holds; rejects with `in_use`, naming the holder. One that is finished rejects with
   * `already_exists` unless `any` is wanted.
   */
  take(runId: string, owner: ProcessOwner, which?: "unfinished" | "any"): Promise<RunHold>;
  find(runId: string): Promise<RunRecord | null>;
  /** Newest first. */
  list(filter: RunFilter, wish: PageWish<string>): Promise<Page<RunRecord, string>>;
  remove(runId: string): Promise<void>;
  /** In the run's order. */
  results(runId: string, wish: PageWish): Promise<Page<ResultWithScores>>;
  /** Places and statuses alone, in order: enough to know what is left. */
  outcomes(runId: string, wish: PageWish): Promise<Page<{ readonly index: number; readonly status: ResultStatus }>>;
}
