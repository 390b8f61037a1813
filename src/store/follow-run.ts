import type { Clock } from "../base/clock.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { hasEnded } from "./lease.ts";
import type { Run, RunEvent, Unit } from "./run.ts";
import type { FollowedEvent } from "./run-source.ts";

const pollIntervalMs = 250;

/** The state of a run at one moment, with units written after some point. */
export interface RunChanges {
  readonly run: Run;
  /** Units in the order in which they were last written. `seq` grows with every write to the run. */
  readonly units: readonly { readonly seq: number; readonly unit: Unit }[];
  /** True if there are more changed units than these. */
  readonly hasMore: boolean;
  /** The highest number given to a write so far. */
  readonly lastSeq: number;
}

export interface FollowRequest {
  /** Returns what was written after a number, all of it read at one moment. */
  readonly read: (afterSeq: number) => Promise<RunChanges>;
  readonly cursor: string | null;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Implements `RunSource.follow` for a source that numbers its writes. It reads again at regular intervals. */
export async function* followRun({ read, cursor, clock, signal }: FollowRequest): AsyncGenerator<FollowedEvent> {
  // A `reset` has an empty cursor, so that following from it starts at the beginning.
  const isFromStart = cursor === null || cursor === "";
  const from = isFromStart ? null : parseCursor(cursor);
  let changes = await read(from?.seq ?? 0);
  const { id, createdAt } = changes.run;
  const cursorAt = (seq: number): string => encodeCursor([id, createdAt, seq]);
  if (
    !isFromStart &&
    !(from !== null && from.id === id && from.createdAt === createdAt && from.seq <= changes.lastSeq)
  ) {
    yield { cursor: "", event: { type: "reset", at: clock.now() } };
    return;
  }
  let last = from?.seq ?? 0;
  if (isFromStart) yield { cursor: cursorAt(0), event: { type: "run_started", at: createdAt, run: changes.run } };
  while (!signal.aborted) {
    for (const { seq, unit } of changes.units) {
      last = seq;
      yield { cursor: cursorAt(seq), event: finishedUnit(unit) };
      if (signal.aborted) return;
    }
    if (!changes.hasMore) {
      const { run } = changes;
      if (hasEnded(run)) {
        yield {
          cursor: cursorAt(last),
          event: { type: "run_finished", at: run.endedAt ?? clock.now(), run, next: [] },
        };
        return;
      }
      if (!(await sleep(clock, signal))) return;
    }
    changes = await read(last);
    if (changes.run.createdAt !== createdAt) {
      // The run was removed, and another one has its id.
      yield { cursor: "", event: { type: "reset", at: clock.now() } };
      return;
    }
  }
}

function parseCursor(cursor: string): { id: string; createdAt: number; seq: number } | null {
  const [id, createdAt, seq] = decodeCursor(cursor, 3) ?? [];
  const isValid = typeof id === "string" && typeof createdAt === "number" && typeof seq === "number";
  return isValid ? { id, createdAt, seq } : null;
}

function finishedUnit(unit: Unit): RunEvent {
  return { type: "unit_finished", at: unit.endedAt ?? unit.startedAt + unit.durationSec * 1000, unit };
}

/** Returns false if the signal was aborted. */
async function sleep(clock: Clock, signal: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(pollIntervalMs, signal);
    return true;
  } catch {
    return false;
  }
}
