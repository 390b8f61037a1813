import { max, mean, min, sum } from "../analysis/aggregates.ts";
import { quantiles } from "../analysis/quantile.ts";
import { summarizeMarks, type ItemMarks, type MarksSummary } from "../analysis/summarize-marks.ts";
import type { FailureCause, PlannedGroup, Run } from "../store/run.ts";
import {
  createGroup,
  groupKey,
  type CauseCount,
  type FailureTally,
  type GroupTally,
  type RunTally,
} from "./run-tally.ts";

/** Units that ended with one type of failure; `scored` of them have a mark all the same. */
export interface FailureSummary {
  readonly type: string;
  readonly count: number;
  readonly scored: number;
}

/** The same with what led to it, the most frequent first. */
export interface FailureDetails extends FailureSummary {
  readonly causes: readonly Readonly<CauseCount>[];
  /** Units whose cause is not among those listed. */
  readonly otherUnits: number;
}

export interface WarningSummary {
  readonly text: string;
  readonly count: number;
  readonly example: string | null;
}

export interface TimeSummary {
  readonly name: string;
  readonly count: number;
  readonly medianSec: number;
  readonly p95Sec: number;
}

/** One row of a report. `marks.headline` is the rate to show; means are over scored units. */
export interface GroupSummary {
  readonly labels: Readonly<Record<string, string>>;
  /** Null when the run stopped early and its plan by row is not known. */
  readonly planned: number | null;
  readonly finished: number;
  readonly scored: number;
  readonly failed: number;
  /** Finished without failure and without mark, because nobody was asked to mark. */
  readonly unmarked: number;
  /** On whose marks nobody should rely. */
  readonly untrusted: number;
  readonly untrustedPasses: number;
  /** Failed units that the headline leaves out, the most frequent reason first. */
  readonly excluded: readonly { readonly reason: string; readonly count: number }[];
  readonly skipped: number | null;
  readonly marks: MarksSummary;
  /** The run's other marks. */
  readonly otherScores: readonly { readonly name: string; readonly marks: MarksSummary }[];
  /** The share of what was planned that has a mark. */
  readonly coverage: number | null;
  readonly metrics: readonly { readonly name: string; readonly value: number | null }[];
  readonly failures: readonly FailureSummary[];
  readonly cost: { readonly usd: number; readonly unknownUnits: number };
  readonly retries: { readonly units: number; readonly total: number };
  readonly duration: TimeSummary | null;
  readonly phases: readonly TimeSummary[];
}

/** Everything a report says about a run, as plain JSON. */
export interface RunSummary {
  readonly run: Run;
  readonly overall: GroupSummary;
  readonly groups: readonly GroupSummary[];
  readonly failures: readonly FailureDetails[];
  /** Failed units by cause. */
  readonly causes: readonly { readonly cause: FailureCause; readonly count: number }[];
  readonly warnings: readonly WarningSummary[];
  /** How often each label was given, the most frequent first, by the mark it goes with. */
  readonly labels: readonly {
    readonly mark: string;
    readonly counts: readonly (readonly [label: string, count: number])[];
  }[];
  /** Warnings beyond those that are listed. */
  readonly otherWarnings: number;
}

/** What a tally has counted so far, by row and overall; a row that was planned and never ran is there too. */
export function summarizeTally(tally: RunTally, run: Run): RunSummary {
  const groups = [...tally.groups.values()];
  const finished = total(groups, (group) => group.finished);
  const planned = new Map(run.plan.groups.map((group) => [groupKey(group.labels, run.shape), group.total]));
  const rows = orderRows(tally, run.plan.groups).map((group) => {
    // When everything has finished, what has finished is the plan.
    const known =
      planned.get(groupKey(group.labels, run.shape)) ?? (finished >= run.plan.total ? group.finished : null);
    return summarizeGroup([group], group.labels, known, run);
  });
  return {
    run,
    overall: summarizeGroup(groups, {}, Math.max(run.plan.total, finished), run),
    groups: rows,
    failures: [...tally.failures].map(([type, failure]) => detailsOf(type, failure)).sort((a, b) => b.count - a.count),
    causes: [...tally.causes].map(([cause, count]) => ({ cause, count })).sort((a, b) => b.count - a.count),
    warnings: [...tally.warnings]
      .map(([text, { count, example }]) => ({ text, count, example }))
      .sort((a, b) => b.count - a.count),
    otherWarnings: tally.otherWarnings,
    labels: [...tally.labels].map(([mark, counts]) => ({ mark, counts: [...counts].sort(([, a], [, b]) => b - a) })),
  };
}

function orderRows(tally: RunTally, planned: readonly PlannedGroup[]): GroupTally[] {
  const keys = planned.map((group) => groupKey(group.labels, tally.shape));
  const others = [...tally.groups]
    .filter(([key]) => !keys.includes(key))
    .sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }));
  const rows = planned.map((group, index) => tally.groups.get(keys[index] ?? "") ?? createGroup(group.labels));
  return [...rows, ...others.map(([, group]) => group)];
}

function summarizeGroup(
  groups: readonly GroupTally[],
  labels: Readonly<Record<string, string>>,
  planned: number | null,
  run: Run,
): GroupSummary {
  const finished = total(groups, (group) => group.finished);
  const scored = total(groups, (group) => group.scored);
  const failed = total(groups, (group) => group.failed);
  const unmarked = finished - scored - failed;
  const marks = summarizeMarks(itemsOf(groups), run.shape.passAt);
  const markable = planned === null ? 0 : Math.max(planned, finished) - unmarked;
  return {
    labels,
    planned,
    finished,
    scored,
    failed,
    unmarked,
    untrusted: total(groups, (group) => group.untrusted),
    untrustedPasses: total(groups, (group) => group.untrustedPasses),
    excluded: excludedOf(groups),
    skipped: planned === null ? null : Math.max(0, planned - finished),
    marks,
    otherScores: (run.shape.otherScores ?? []).map((name) => ({
      name,
      marks: summarizeMarks(otherItemsOf(groups, name), run.shape.passAt),
    })),
    coverage: markable > 0 ? scored / markable : null,
    metrics: run.plan.metrics.map((name) => ({ name, value: metricOf(name, groups) })),
    failures: failuresOf(groups),
    cost: { usd: total(groups, (group) => group.costUsd), unknownUnits: total(groups, (group) => group.unknownCosts) },
    retries: { units: total(groups, (group) => group.retriedUnits), total: total(groups, (group) => group.retries) },
    duration: timeOf(
      "total",
      groups.flatMap((group) => group.durations),
    ),
    phases: phasesOf(groups),
  };
}

function excludedOf(groups: readonly GroupTally[]): GroupSummary["excluded"] {
  const reasons = new Set(groups.flatMap(({ excluded }) => [...excluded.keys()]));
  return [...reasons]
    .map((reason) => ({ reason, count: total(groups, ({ excluded }) => excluded.get(reason) ?? 0) }))
    .sort((a, b) => b.count - a.count);
}

function detailsOf(type: string, { causes, ...failure }: FailureTally): FailureDetails {
  return { type, ...failure, causes: [...causes.values()].sort((a, b) => b.count - a.count) };
}

function failuresOf(groups: readonly GroupTally[]): FailureSummary[] {
  const types = new Set(groups.flatMap((group) => [...group.failures.keys()]));
  return [...types]
    .map((type) => ({
      type,
      count: total(groups, (group) => group.failures.get(type)?.count ?? 0),
      scored: total(groups, (group) => group.failures.get(type)?.scored ?? 0),
    }))
    .sort((a, b) => b.count - a.count);
}

/** Across rows a task is one cluster: what several agents make of it is not independent. */
function* itemsOf(groups: readonly GroupTally[]): Iterable<ItemMarks> {
  for (const { marks, missed } of groups)
    for (const item of new Set([...marks.keys(), ...missed.keys()]))
      yield { item, values: marks.get(item) ?? [], missed: missed.get(item), cluster: item };
}

function* otherItemsOf(groups: readonly GroupTally[], name: string): Iterable<ItemMarks> {
  for (const { otherScores } of groups)
    for (const [item, values] of otherScores.get(name) ?? []) yield { item, values, cluster: item };
}

const aggregates = new Map<string, (values: readonly number[]) => number | null>([
  ["mean", mean],
  ["sum", sum],
  ["min", min],
  ["max", max],
]);

function metricOf(name: string, groups: readonly GroupTally[]): number | null {
  const aggregate = aggregates.get(name);
  return aggregate ? aggregate(groups.flatMap((group) => [...group.marks.values()].flat())) : null;
}

function phasesOf(groups: readonly GroupTally[]): TimeSummary[] {
  const names = new Set(groups.flatMap((group) => [...group.phases.keys()]));
  return [...names].flatMap(
    (name) =>
      timeOf(
        name,
        groups.flatMap((group) => group.phases.get(name) ?? []),
      ) ?? [],
  );
}

function timeOf(name: string, seconds: readonly number[]): TimeSummary | null {
  const [medianSec, p95Sec] = quantiles(seconds, [0.5, 0.95]) ?? [];
  return medianSec === undefined || p95Sec === undefined ? null : { name, count: seconds.length, medianSec, p95Sec };
}

function total(groups: readonly GroupTally[], pick: (group: GroupTally) => number): number {
  return groups.reduce((result, group) => result + pick(group), 0);
}
