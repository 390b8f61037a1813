import type { RunShape, Unit } from "../store/run.ts";

/** Units that ended with one type of failure. */
export interface FailureCount {
  count: number;
  /** How many of them have a mark all the same: a failed teardown. */
  scored: number;
  readonly firstMessage: string;
  readonly examples: string[];
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
  costUsd: number;
  unknownCosts: number;
  retriedUnits: number;
  retries: number;
  /** Marks of every attempt by item. */
  readonly marks: Map<string, number[]>;
  readonly durations: number[];
  readonly phases: Map<string, number[]>;
  readonly failures: Map<string, FailureCount>;
}

const keptExamples = 3;
const longestText = 2000;
// Texts that name a path each would otherwise fill the memory of a long run.
const mostWarnings = 200;

/** Counts finished units as they come, with a few numbers of memory for each. */
export class RunTally {
  readonly shape: RunShape;
  readonly groups = new Map<string, GroupTally>();
  readonly failures = new Map<string, FailureCount>();
  readonly warnings = new Map<string, WarningCount>();
  /** Warnings that came after too many different ones. */
  otherWarnings = 0;

  constructor(shape: RunShape) {
    this.shape = shape;
  }

  add(unit: Unit): void {
    const group = this.#groupOf(unit.labels);
    const mark = findMark(unit, this.shape.markName);
    group.finished++;
    if (mark !== null) {
      group.scored++;
      appendTo(group.marks, unit.labels[this.shape.itemLabel] ?? unit.key, mark);
    } else if (unit.failure) group.failed++;
    if (unit.failure) {
      countFailure(group.failures, unit, mark !== null);
      countFailure(this.failures, unit, mark !== null);
    }
    if (unit.cost === null) group.unknownCosts++;
    else group.costUsd += unit.cost;
    if (unit.tries > 1) {
      group.retriedUnits++;
      group.retries += unit.tries - 1;
    }
    group.durations.push(unit.durationSec);
    for (const { name, durationSec } of unit.phases)
      if (durationSec !== null) appendTo(group.phases, name, durationSec);
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

  #groupOf(labels: Readonly<Record<string, string>>): GroupTally {
    const key = groupKey(labels, this.shape);
    const known = this.groups.get(key);
    if (known) return known;
    const group = createGroup(pickLabels(labels, this.shape));
    this.groups.set(key, group);
    return group;
  }
}

/** The mark a run is about, if the unit has it as a real number. */
export function findMark(unit: Unit, name: string): number | null {
  const value = unit.marks.find((mark) => mark.name === name)?.value ?? null;
  return value !== null && Number.isFinite(value) ? value : null;
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
    costUsd: 0,
    unknownCosts: 0,
    retriedUnits: 0,
    retries: 0,
    marks: new Map(),
    durations: [],
    phases: new Map(),
    failures: new Map(),
  };
}

function appendTo(lists: Map<string, number[]>, key: string, value: number): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

function countFailure(counts: Map<string, FailureCount>, unit: Unit, scored: boolean): void {
  if (!unit.failure) return;
  const { type, message } = unit.failure;
  let entry = counts.get(type);
  if (!entry) {
    entry = { count: 0, scored: 0, firstMessage: message.slice(0, longestText), examples: [] };
    counts.set(type, entry);
  }
  entry.count++;
  if (scored) entry.scored++;
  if (entry.examples.length < keptExamples) entry.examples.push(unit.key);
}
