import type { Clock } from "../../base/clock.ts";
import { decodeCursor, encodeCursor } from "../../store/cursor.ts";
import type { Run, RunEvent, Unit } from "../../store/run.ts";
import type { FollowedEvent } from "../../store/run-source.ts";
import type { JobIndex } from "./job-index.ts";
import type { IndexedTrial } from "./indexed-trial.ts";
import { isOutdated, LogEvents, type LogPosition } from "./log-events.ts";

export interface FollowJobRequest {
  /** Refreshed at least once. */
  readonly index: JobIndex;
  readonly readRun: () => Promise<Run>;
  /** Returns whether a process works on the job. */
  readonly isAlive: () => Promise<boolean>;
  readonly cursor: string | null;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** How far a follower has read. */
interface Position {
  readonly journal: number;
  readonly log: LogPosition;
}

const pollIntervalMs = 250;
const batchSize = 50;

/** Implements `RunSource.follow` for a job directory. It reads the journal and the log again at regular intervals. */
export async function* followJob(request: FollowJobRequest): AsyncGenerator<FollowedEvent> {
  const { index, clock, signal } = request;
  const { identity } = index;
  // A `reset` has an empty cursor, so that following from it starts at the beginning.
  const isFromStart = request.cursor === null || request.cursor === "";
  const from = isFromStart ? beginning : parseCursor(request.cursor ?? "", index);
  if (from === null) {
    yield reset(clock);
    return;
  }
  let position = from;
  const toFollowed = (event: RunEvent): FollowedEvent => ({ cursor: formatCursor(identity, position), event });
  if (isFromStart) {
    const run = await request.readRun();
    if (!signal.aborted) yield toFollowed({ type: "run_started", at: run.createdAt, run });
  }
  const log = new LogEvents(index, position.log);
  while (!signal.aborted) {
    // In this order: the journal is complete if no process was alive, and a unit in it has no later events.
    const logged = await log.read();
    const isAlive = await request.isAlive();
    await index.refresh();
    if (index.identity !== identity) {
      yield reset(clock);
      return;
    }
    const hasEnded = !isAlive || index.state.ended !== null;
    for (const entry of hasEnded ? [] : logged) {
      if (isOutdated(entry, index.state)) continue;
      position = { ...position, log: entry.position };
      yield toFollowed(entry.event);
      if (signal.aborted) return;
    }
    for await (const { trial, unit } of readChanges(index, position.journal)) {
      position = { ...position, journal: trial.changedAt };
      yield toFollowed(unitEvent(index, trial, unit));
      if (signal.aborted) return;
    }
    if (hasEnded) {
      const run = await request.readRun();
      if (!signal.aborted) yield toFollowed({ type: "run_finished", at: run.endedAt ?? clock.now(), run, next: [] });
      return;
    }
    await clock.sleep(pollIntervalMs, signal).catch(() => {});
  }
}

const beginning: Position = { journal: 0, log: { session: 0, offset: 0 } };

function formatCursor(identity: string, { journal, log }: Position): string {
  return encodeCursor([identity, journal, log.session, log.offset]);
}

function parseCursor(cursor: string, { identity, offset: journalEnd }: JobIndex): Position | null {
  const [journalId, journal, session, offset] = decodeCursor(cursor, 4) ?? [];
  if (journalId !== identity || !isOffset(journal) || journal > journalEnd) return null;
  return isOffset(session) && isOffset(offset) ? { journal, log: { session, offset } } : null;
}

function isOffset(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function reset(clock: Clock): FollowedEvent {
  return { cursor: "", event: { type: "reset", at: clock.now() } };
}

/** Reads units that changed after a place in the journal, in the order of their last change. */
async function* readChanges(
  index: JobIndex,
  after: number,
): AsyncGenerator<{ readonly trial: IndexedTrial; readonly unit: Unit }> {
  const changed = index.state.changedAfter(after);
  for (let from = 0; from < changed.length; from += batchSize) {
    const batch = changed.slice(from, from + batchSize);
    const units = new Map((await index.readUnits(batch)).map((unit) => [unit.key, unit]));
    for (const trial of batch) {
      const unit = units.get(trial.row.key);
      if (unit) yield { trial, unit };
    }
  }
}

function unitEvent({ state }: JobIndex, { finishedStart }: IndexedTrial, unit: Unit): RunEvent {
  const type = finishedStart < state.startedStart ? "unit_restored" : "unit_finished";
  return { type, at: unit.endedAt ?? unit.startedAt, unit };
}
