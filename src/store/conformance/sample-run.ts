import { randomUUID } from "node:crypto";
import { createFailure } from "../failure.ts";
import type { Failure, Run, Unit } from "../run.ts";

let count = 0;

/** Returns a running run with an id of its own. Runs are created one second apart. */
export function sampleRun(changes: Partial<Run> = {}): Run {
  return {
    id: randomUUID(),
    kind: "dataset",
    name: "a run",
    description: null,
    status: "running",
    isResumable: true,
    createdAt: Date.parse("2025-01-15T10:30:00Z") + 1_000 * count++,
    endedAt: null,
    sessions: [],
    owner: null,
    shape: {
      groupBy: ["agent"],
      itemLabel: "task",
      scoreName: "reward",
      passAt: 1,
      unitNoun: "item",
    },
    plan: { total: 3, concurrency: 1, groups: [], budget: [], metrics: ["mean"] },
    counts: { finished: 0, completed: 0, failed: 0, cancelled: 0, untrusted: 0 },
    headline: null,
    groups: [],
    spendUsd: 0,
    unknownSpends: 0,
    scores: [],
    targets: ["echo"],
    datasets: [],
    location: "memory:",
    params: {},
    tags: {},
    git: null,
    rolloutVersion: "0.1.0",
    error: null,
    warnings: [],
    notes: [],
    details: {},
    ...changes,
  };
}

/** Returns a completed unit with values that depend on its index. */
export function sampleUnit(index: number, changes: Partial<Unit> = {}): Unit {
  const startedAt = Date.parse("2025-01-15T10:30:00Z") + 1_000 * index;
  return {
    index,
    key: `echo/tasks/task-${index}__1`,
    labels: { agent: "echo", dataset: "tasks", task: `task-${index}`, attempt: "1" },
    status: "completed",
    phases: [{ name: "agent_execution", durationSec: 1.5 }],
    usage: { inputTokens: 100 + index, outputTokens: 10, costUsd: 0.25 },
    spendUsd: 0.25,
    tries: 1,
    startedAt,
    endedAt: startedAt + 2_000,
    durationSec: 2,
    scores: [{ name: "reward", value: 1 }],
    failure: null,
    input: { index },
    output: [index],
    artifacts: [],
    warnings: [],
    untrusted: [],
    details: {},
    ...changes,
  };
}

/** Returns a failed unit without a score. */
export function sampleFailedUnit(index: number, failure: Partial<Omit<Failure, "fingerprint">> = {}): Unit {
  return sampleUnit(index, {
    status: "failed",
    scores: [],
    failure: createFailure({
      type: "agent_execution_timeout",
      message: `the agent exceeded ${index} seconds`,
      phase: "agent_execution",
      cause: "agent",
      ...failure,
    }),
  });
}
