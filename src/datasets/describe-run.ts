import type { Clock } from "../base/clock.ts";
import type { Json, JsonObject } from "../base/json.ts";
import type { RunEvent, RunHead, RunShape, RunTail, WholeMark } from "../store/run.ts";
import type { RunRecord } from "../store/run-store.ts";
import type { PreparedRun } from "./prepare-run.ts";
import type { RunSummary, ScorerResult } from "./summary.ts";
import type { UnitNames } from "./to-unit.ts";

type Head = Extract<RunEvent, { readonly type: "run_started" }>;
type Tail = Extract<RunEvent, { readonly type: "run_finished" }>;

/** The beginning of a run in the words that all doors share. */
export function describeHead(prepared: PreparedRun, names: UnitNames, clock: Clock): Head {
  const { plan, scorers, rules, config } = prepared;
  const run: RunHead = {
    id: plan.id,
    kind: "dataset",
    name: plan.name,
    total: plan.total,
    groups: [{ labels: { target: names.target, dataset: names.dataset }, total: plan.total }],
    concurrency: rules.maxConcurrency,
    shape: shapeOf(
      scorers.ofRun.perItem.map(({ id }) => id),
      { repeats: rules.repeats, total: plan.total, passAt: rules.passAt },
    ),
    metrics: [],
    location: config.storage?.location ?? "",
  };
  return { type: "run_started", at: clock.now(), run };
}

/** The end of a run in the words that all doors share. */
export function describeTail(summary: RunSummary, { config }: PreparedRun, clock: Clock): Tail {
  return {
    type: "run_finished",
    at: clock.now(),
    tail: {
      status: summary.error === null ? "completed" : config.signal?.aborted ? "cancelled" : "unfinished",
      skipped: summary.skippedCount,
      hasFailed: summary.error === null && summary.status === "failed",
      durationSec: (summary.completedAt.getTime() - summary.startedAt.getTime()) / 1000,
      sessions: 1,
      wholeMarks: summary.datasetScores.map(toWholeMark),
      next: [],
    },
  };
}

/** What a scorer said of a run as a whole, in the words that all doors share. */
function toWholeMark({ scorerName, score, reason, error }: ScorerResult): WholeMark {
  return { name: scorerName, value: score, note: error ?? reason };
}

/** The same of a run that is read from a store. */
export function describeStoredHead(run: RunRecord, names: UnitNames, location: string): RunHead {
  const { scorers, repeats, passAt } = run.identity;
  return {
    id: run.id,
    kind: run.kind,
    name: run.name,
    total: run.total,
    groups: [{ labels: { target: names.target, dataset: names.dataset }, total: run.total }],
    concurrency: 1,
    shape: shapeOf(Array.isArray(scorers) ? scorers.map(String) : [], {
      repeats: typeof repeats === "number" ? repeats : 1,
      total: run.total,
      passAt: typeof passAt === "number" ? passAt : 1,
    }),
    metrics: [],
    location,
  };
}

export function describeStoredTail(run: RunRecord, finished: number, now: number, next: readonly string[]): RunTail {
  return {
    status: run.isFinished || run.status === "completed" ? "completed" : "unfinished",
    skipped: Math.max(0, run.total - finished),
    hasFailed: run.isFinished && run.status === "failed",
    durationSec: ((run.endedAt ?? now) - run.createdAt) / 1000,
    sessions: 1,
    wholeMarks: readWholeMarks(run.summary),
    next,
  };
}

function readWholeMarks(summary: Json): WholeMark[] {
  const scores = typeof summary === "object" && summary !== null ? (summary as JsonObject)["datasetScores"] : null;
  return Array.isArray(scores) ? (scores as unknown as ScorerResult[]).map(toWholeMark) : [];
}

interface ShapeFacts {
  readonly repeats: number;
  readonly total: number;
  readonly passAt: number;
}

function shapeOf([first = "", ...others]: readonly string[], { repeats, total, passAt }: ShapeFacts): RunShape {
  return {
    groupBy: ["target", "dataset"],
    itemLabel: "item",
    markName: first,
    otherMarks: others,
    tellsCost: false,
    passAt,
    isScore: first !== "",
    ...(repeats > 1 ? { unitNoun: "run", itemCount: Math.round(total / repeats) } : { unitNoun: "item" }),
  };
}
