import type { JsonObject } from "../base/json.ts";
import type { Run, RunShape } from "../store/run.ts";
import type { PreparedRun } from "./prepare-run.ts";
import { RunCount } from "./results/run-count.ts";
import type { RunContext } from "./run-context.ts";
import type { ScorerSummary } from "./summary.ts";
import type { UnitNames } from "./to-unit.ts";

/** Returns the record of a run that starts now. */
export function toRun(
  { plan, config, rules, items, target, scorers }: PreparedRun,
  names: UnitNames,
  { clock, owner, origin }: RunContext,
): Run {
  const startedAt = clock.now();
  const scoreIds = scorers.ofRun.perItem.map(({ id }) => id);
  const run: Run = {
    id: plan.id,
    kind: "dataset",
    name: plan.name,
    description: config.description ?? origin.description,
    status: "running",
    createdAt: startedAt,
    endedAt: null,
    sessions: [{ startedAt, endedAt: null, durationSec: 0 }],
    owner: { pid: owner.pid, hostname: owner.hostname },
    isResumable: true,
    counts: { finished: 0, completed: 0, failed: 0, cancelled: 0, untrusted: 0 },
    headline: null,
    groups: [],
    spendUsd: 0,
    unknownSpends: 0,
    scores: [],
    error: null,
    warnings: [],
    shape: shapeOf(scoreIds, { repeats: rules.repeats, total: plan.total, passAt: rules.passAt }),
    plan: {
      total: plan.total,
      concurrency: rules.maxConcurrency,
      groups: [{ labels: { target: names.target, dataset: names.dataset }, total: plan.total }],
      budget: [],
      metrics: [],
    },
    targets: [target.name],
    datasets: [
      {
        name: items.dataset?.name ?? "data",
        id: items.dataset?.id ?? null,
        version: items.version === null ? null : String(items.version),
      },
    ],
    location: config.storage?.location ?? "",
    params: {},
    tags: { ...origin.tags, ...config.tags },
    git: origin.git,
    rolloutVersion: origin.rolloutVersion,
    notes: [],
    details: { identity: plan.identity, metadata: config.metadata ?? {} },
  };
  return withProgress(run, new RunCount(rules, plan.total, scoreIds[0] ?? null));
}

/** Returns the run with what was counted so far. */
export function withProgress(run: Run, count: RunCount): Run {
  const { scorers, persistenceFailures, ...progress } = count.describe();
  const details = { scorers: scorers.map(scorerJson), persistence_failures: persistenceFailures };
  return { ...run, ...progress, details: { ...run.details, ...details } };
}

function scorerJson({ scorerId, scorerName, interval, ...rest }: ScorerSummary): JsonObject {
  return { scorer_id: scorerId, scorer_name: scorerName, ...rest, interval: interval && { ...interval } };
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
    scoreName: first,
    otherScores: others,
    showsCost: false,
    passAt,
    isScore: first !== "",
    ...(repeats > 1 ? { unitNoun: "run", itemCount: Math.round(total / repeats) } : { unitNoun: "item" }),
  };
}
