import type { Artifact, Run, RunEvent, RunKind, RunStatus, Unit, UnitRow } from "./run.ts";
import type { Page, PageRequest } from "./store.ts";
import type { Filter } from "./filter.ts";

/** Which runs to list; a run matches all that is given. */
export interface RunFilter {
  readonly kind?: RunKind | undefined;
  readonly status?: RunStatus | undefined;
  /** The exact name. */
  readonly name?: string | undefined;
  /** Tags the run must have. */
  readonly tags?: Readonly<Record<string, string>> | undefined;
  /** Created at this time or later, in milliseconds since the epoch. */
  readonly since?: number | undefined;
  /** Part of the name, the id, a target or a dataset, in any case. */
  readonly text?: string | undefined;
  /** A dataset of the store, by id. */
  readonly datasetId?: string | undefined;
}

/** What units can be sorted by. Units without the value come last. */
export const unitOrders = ["index", "key", "status", "score", "started", "duration", "cost", "failure"] as const;

export type UnitOrder = (typeof unitOrders)[number];

export interface UnitQuery {
  /** Default: every unit. */
  readonly filter?: Filter | undefined;
  /** Default: by index. */
  readonly sort?: { readonly by: UnitOrder; readonly isDescending?: boolean | undefined } | undefined;
  readonly page: PageRequest<string>;
}

/** Part of a file: from `start` up to and without `end`, or the last bytes. Default: all of it. */
export type ByteRange = { readonly start: number; readonly end?: number | undefined } | { readonly last: number };

export interface ArtifactContent {
  readonly artifact: Artifact;
  /** When it was last written, in milliseconds since the epoch; null when unknown. */
  readonly modifiedAt: number | null;
  /** Where the content begins in the file. */
  readonly start: number;
  readonly content: AsyncIterable<Uint8Array>;
}

/** `reset`: the cursor is no longer valid; start again without one. */
export interface FollowedEvent {
  readonly cursor: string;
  readonly event: RunEvent | { readonly type: "reset"; readonly at: number };
}

/**
 * Reads runs and their units. Unknown runs reject with `not_found`.
 * Cursors and page positions are opaque strings. A run can be read while it is written.
 */
export interface RunSource {
  /** Newest first. Never opens a unit. */
  list(filter: RunFilter, page: PageRequest<string>): Promise<Page<Run, string>>;
  /** Returns null for an unknown id. */
  get(runId: string): Promise<Run | null>;
  /** Finished units without their texts. */
  rows(runId: string, query: UnitQuery): Promise<Page<UnitRow, string>>;
  /** Finished units with all they hold. */
  units(runId: string, query: UnitQuery): Promise<Page<Unit, string>>;
  /** Returns null for a key without a finished unit. */
  unit(runId: string, key: string): Promise<Unit | null>;
  /** Files of a unit, also of one that is running. */
  artifacts(runId: string, key: string): Promise<readonly Artifact[]>;
  /** Returns null if the unit has no artifact of that name. Rejects with `range_invalid` for a start past the end. */
  artifact(runId: string, key: string, name: string, range?: ByteRange): Promise<ArtifactContent | null>;
  /** Yields what happens after the cursor, or everything if it is null. Ends when the run has ended, or on abort. */
  follow(runId: string, cursor: string | null, signal: AbortSignal): AsyncIterable<FollowedEvent>;
}
