import { exclusionOf, scoreOf, type Failure, type FailureCause, type RunShape, type Unit } from "../store/run.ts";
import { originOf } from "./failure-origin.ts";

/** Units that ended with one type of failure. */
export interface FailureCount {
  count: number;
  /** How many of them have a mark all the same: a failed teardown. */
  scored: number;
}

/** The same with what led to it. */
export interface FailureTally extends FailureCount {
  readonly causes: Map<string, CauseCount>;
  /** Units whose cause came after too many different ones. */
  otherUnits: number;
}

export interface CauseCount {
  count: number;
  /** What the failures themselves say of where they come from: `infrastructure`. */
  readonly origin: string | null;
  readonly firstMessage: string;
  readonly example: string;
}

export interface WarningCount {
  count: number;
  readonly example: string | null;
}

/** What is kept of the units of one row: numbers only. */
export interface GroupTally {
  readonly labels: Readonly<Record<string, string>>;
  finished: number;
  scored: number;
  failed: number;
  /** Failed units that the headline leaves out, by reason. */
  readonly excluded: Map<string, number>;
  untrusted: number;
  untrustedPasses: number;
  costUsd: number;
  unknownCosts: number;
  retriedUnits: number;
  retries: number;
  /** Marks of every attempt by item. */
  readonly marks: Map<string, number[]>;
  /** Attempts by item that failed through a fault of their own and have no mark. */
  readonly missed: Map<string, number>;
  /** The same as `marks` of every other mark of the run. */
  readonly otherScores: Map<string, Map<string, number[]>>;
  /** Of the units that reached a phase, if they have phases at all. */
  readonly durations: number[];
  readonly phases: Map<string, number[]>;
  readonly failures: Map<string, FailureCount>;
}

const longestText = 2000;
// Texts that name a path each would otherwise fill the memory of a long run.
const mostWarnings = 200;
const mostCauses = 50;
const mostLabels = 100;

/** Counts finished units as they come, with a few numbers of memory for each. */
export class RunTally {
  readonly shape: RunShape;
  readonly groups = new Map<string, GroupTally>();
  readonly failures = new Map<string, FailureTally>();
  /** Failed units by cause. */
  readonly causes = new Map<FailureCause, number>();
  readonly warnings = new Map<string, WarningCount>();
  /** How often each label was given, by the mark it goes with. */
  readonly labels = new Map<string, Map<string, number>>();
  /** Warnings that came after too many different ones. */
  otherWarnings = 0;

  constructor(shape: RunShape) {
    this.shape = shape;
  }

  add(unit: Unit): void {
    const group = this.#groupOf(unit.labels);
    const mark = scoreOf(unit, this.shape.scoreName);
    const item = unit.labels[this.shape.itemLabel] ?? unit.key;
    group.finished++;
    if (mark !== null) {
      group.scored++;
      entryOf(group.marks, item, newList).push(mark);
    } else if (unit.failure) {
      group.failed++;
      const reason = exclusionOf(unit.failure);
      if (reason === null) group.missed.set(item, (group.missed.get(item) ?? 0) + 1);
      else group.excluded.set(reason, (group.excluded.get(reason) ?? 0) + 1);
    }
    for (const name of this.shape.otherScores ?? []) {
      const other = scoreOf(unit, name);
      if (other === null) continue;
      entryOf(entryOf(group.otherScores, name, newMarks), item, newList).push(other);
    }
    if (unit.failure) {
      const { type, cause } = unit.failure;
      this.causes.set(cause, (this.causes.get(cause) ?? 0) + 1);
      const all = entryOf(this.failures, type, () => ({ count: 0, scored: 0, causes: new Map(), otherUnits: 0 }));
      countFailure(all, mark !== null);
      countCause(all, unit.failure, unit.key);
      countFailure(
        entryOf(group.failures, type, () => ({ count: 0, scored: 0 })),
        mark !== null,
      );
    }
    for (const { name, label } of unit.scores) if (label !== undefined) this.#countLabel(name, label);
    if (unit.untrusted.length > 0) {
      group.untrusted++;
      if (mark !== null && mark >= this.shape.passAt) group.untrustedPasses++;
    }
    if (unit.spendUsd === null) group.unknownCosts++;
    else group.costUsd += unit.spendUsd;
    if (unit.tries > 1) {
      group.retriedUnits++;
      group.retries += unit.tries - 1;
    }
    if (hasBegun(unit)) group.durations.push(unit.durationSec);
    for (const { name, durationSec } of unit.phases)
      if (durationSec !== null) entryOf(group.phases, name, newList).push(durationSec);
    for (const text of unit.warnings) this.addWarning(text, unit.key);
  }

  /** Counts a warning of the run itself, or of the unit that is its example. */
  addWarning(text: string, example: string | null = null): void {
    const kept = text.slice(0, longestText);
    const known = this.warnings.get(kept);
    if (known) known.count++;
    else if (this.warnings.size < mostWarnings) this.warnings.set(kept, { count: 1, example });
    else this.otherWarnings++;
  }

  #countLabel(mark: string, label: string): void {
    const counts = entryOf(this.labels, mark, () => new Map<string, number>());
    const known = counts.get(label);
    if (known !== undefined || counts.size < mostLabels) counts.set(label, (known ?? 0) + 1);
  }

  #groupOf(labels: Readonly<Record<string, string>>): GroupTally {
    return entryOf(this.groups, groupKey(labels, this.shape), () => createGroup(pickLabels(labels, this.shape)));
  }
}

/** One string for the row that labels belong to. */
export function groupKey(labels: Readonly<Record<string, string>>, shape: RunShape): string {
  return JSON.stringify(shape.groupBy.map((label) => labels[label] ?? ""));
}

function pickLabels(labels: Readonly<Record<string, string>>, shape: RunShape): Record<string, string> {
  return Object.fromEntries(shape.groupBy.map((label) => [label, labels[label] ?? ""]));
}

/** A row with nothing in it yet. */
export function createGroup(labels: Readonly<Record<string, string>>): GroupTally {
  return {
    labels,
    finished: 0,
    scored: 0,
    failed: 0,
    excluded: new Map(),
    untrusted: 0,
    untrustedPasses: 0,
    costUsd: 0,
    unknownCosts: 0,
    retriedUnits: 0,
    retries: 0,
    marks: new Map(),
    missed: new Map(),
    otherScores: new Map(),
    durations: [],
    phases: new Map(),
    failures: new Map(),
  };
}

function entryOf<Entry>(entries: Map<string, Entry>, key: string, create: () => Entry): Entry {
  const known = entries.get(key);
  if (known !== undefined) return known;
  const entry = create();
  entries.set(key, entry);
  return entry;
}

function newList(): number[] {
  return [];
}

function newMarks(): Map<string, number[]> {
  return new Map();
}

/** A unit that was refused before its first phase says nothing about how long units take. */
function hasBegun({ phases }: Unit): boolean {
  return phases.length === 0 || phases.some(({ durationSec }) => durationSec !== null);
}

function countFailure(entry: FailureCount, scored: boolean): void {
  entry.count++;
  if (scored) entry.scored++;
}

function countCause(tally: FailureTally, failure: Failure, example: string): void {
  const origin = originOf(failure);
  const key = `${origin} ${failure.fingerprint}`;
  const known = tally.causes.get(key);
  if (known) known.count++;
  else if (tally.causes.size >= mostCauses) tally.otherUnits++;
  else tally.causes.set(key, { count: 1, origin, firstMessage: failure.message.slice(0, longestText), example });
}
