import { createHash } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import { decodeCursor, encodeCursor } from "../../store/cursor.ts";
import { hasEnded } from "../../store/lease.ts";
import type { Run, Unit } from "../../store/run.ts";
import type { FollowedEvent } from "../../store/run-source.ts";
import type { ExperimentIndex, ResultPosition } from "./experiment-index.ts";

export interface FollowExperimentRequest {
  /** Refreshed at least once. */
  readonly index: ExperimentIndex;
  readonly readRun: () => Promise<Run>;
  readonly cursor: string | null;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** How far a follower has come: it has the first `done` of the runs that changed between two positions. */
interface Progress {
  readonly from: ResultPosition;
  readonly to: ResultPosition;
  readonly done: number;
}

const pollIntervalMs = 250;
const batchSize = 100;
const start: ResultPosition = { runs: 0, evaluations: 0 };

/** Implements `RunSource.follow` for an experiment directory. It reads the files again at regular intervals. */
export async function* followExperiment(request: FollowExperimentRequest): AsyncGenerator<FollowedEvent> {
  const { index, readRun, clock, signal } = request;
  // A `reset` has an empty cursor, so that following from it starts at the beginning.
  const cursor = request.cursor === "" ? null : request.cursor;
  const { generation } = index;
  let run = await readRun();
  const { createdAt } = run;
  const format = (at: Progress): string => encodeCursor([run.id, createdAt, ...cursorParts(at, index)]);
  let progress: Progress | null =
    cursor === null ? { from: start, to: start, done: 0 } : parseCursor(cursor, run, index);
  if (progress === null) {
    yield reset(clock);
    return;
  }
  if (cursor === null) yield { cursor: format(progress), event: { type: "run_started", at: createdAt, run } };
  while (!signal.aborted) {
    // In this order: if the run had ended before the results were read, these are complete.
    run = await readRun();
    await index.refresh();
    if (index.generation !== generation || run.createdAt !== createdAt) {
      yield reset(clock);
      return;
    }
    const parts: readonly Progress[] = [progress, { from: progress.to, to: index.position, done: 0 }];
    for (const part of parts) {
      for await (const { unit, done } of readChanges(index, part)) {
        if (signal.aborted) return;
        const at = unit.endedAt ?? unit.startedAt;
        yield { cursor: format({ ...part, done }), event: { type: "unit_finished", at, unit } };
      }
      progress = { from: part.to, to: part.to, done: 0 };
    }
    if (signal.aborted) return;
    if (hasEnded(run)) {
      const at = run.endedAt ?? clock.now();
      yield { cursor: format(progress), event: { type: "run_finished", at, run, next: [] } };
      return;
    }
    await clock.sleep(pollIntervalMs, signal).catch(() => {});
  }
}

/** Reads the units that changed, except those that the follower has. */
async function* readChanges(
  index: ExperimentIndex,
  { from, to, done }: Progress,
): AsyncGenerator<{ readonly unit: Unit; readonly done: number }> {
  const changed = index.changesBetween(from, to);
  for (let at = done; at < changed.length; at += batchSize) {
    const batch = changed.slice(at, at + batchSize);
    const units = new Map((await index.readUnits(batch)).map((unit) => [unit.index, unit]));
    for (const [offset, each] of batch.entries()) {
      const unit = units.get(each);
      if (unit !== undefined) yield { unit, done: at + offset + 1 };
    }
  }
}

function cursorParts({ from, to, done }: Progress, { identities }: ExperimentIndex): readonly (string | number)[] {
  const files = [identityAt(identities[0], to.runs), identityAt(identities[1], to.evaluations)];
  return [...files, from.runs, from.evaluations, to.runs, to.evaluations, done];
}

/** Returns null for a cursor that does not belong to the files of an index. */
function parseCursor(cursor: string, run: Run, index: ExperimentIndex): Progress | null {
  const [id, createdAt, ...parts] = decodeCursor(cursor, 9) ?? [];
  const numbers = parts.slice(2);
  if (id !== run.id || createdAt !== run.createdAt || !numbers.every(isOffset)) return null;
  const [fromRuns, fromEvaluations, toRuns, toEvaluations, done] = numbers as [number, number, number, number, number];
  const from = { runs: fromRuns, evaluations: fromEvaluations };
  const to = { runs: toRuns, evaluations: toEvaluations };
  const progress = { from, to, done };
  if (!isWithin(from, to) || !isWithin(to, index.position)) return null;
  return cursorParts(progress, index).every((part, at) => part === parts[at]) ? progress : null;
}

function isWithin(one: ResultPosition, other: ResultPosition): boolean {
  return one.runs <= other.runs && one.evaluations <= other.evaluations;
}

/** Identifies a file of which something was read. */
function identityAt(identity: string, offset: number): string {
  return offset === 0 ? "" : createHash("sha256").update(identity).digest("base64url").slice(0, 12);
}

function isOffset(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function reset(clock: Clock): FollowedEvent {
  return { cursor: "", event: { type: "reset", at: clock.now() } };
}
