import { createFailure } from "../../store/failure.ts";
import type { Failure, Run, RunPlan, Unit } from "../../store/run.ts";

/** Changes to the sample run; fields of its plan can be given directly. */
export type SampleRun = Partial<Omit<Run, "groups">> &
  Partial<Pick<RunPlan, "total" | "concurrency" | "groups" | "metrics">>;

/** Returns a job of trials for tests. */
export function sampleRun(sample: SampleRun = {}): Run {
  const { total = 54, concurrency = 4, groups = [], metrics = ["mean"], ...changes } = sample;
  return {
    id: "run-1",
    kind: "job",
    name: "tb2-sweep",
    description: null,
    status: "running",
    isResumable: true,
    createdAt: 0,
    endedAt: null,
    sessions: [{ startedAt: 0, endedAt: null, durationSec: 754 }],
    owner: null,
    shape: { groupBy: ["agent", "dataset"], itemLabel: "task", scoreName: "reward", passAt: 1, unitNoun: "trial" },
    plan: { total, concurrency, groups, budget: [], metrics },
    counts: { finished: 0, completed: 0, failed: 0, cancelled: 0, untrusted: 0 },
    headline: null,
    groups: [],
    spendUsd: 0,
    unknownSpends: 0,
    scores: [],
    targets: ["cpe"],
    datasets: [{ name: "terminal-bench", id: null, version: null }],
    location: "jobs/tb2-sweep",
    params: {},
    tags: {},
    git: null,
    rolloutVersion: "0.0.0",
    error: null,
    warnings: [],
    notes: [],
    details: {},
    ...changes,
  };
}

/** A failure of the agent unless another cause is given. */
export type SampleFailure = Pick<Failure, "type" | "message"> & Partial<Pick<Failure, "phase" | "cause">>;

export interface SampleUnit extends Partial<Omit<Unit, "labels" | "failure">> {
  readonly failure?: SampleFailure | null;
  readonly agent?: string;
  readonly dataset?: string;
  readonly task?: string;
  readonly attempt?: number;
  readonly reward?: number | null;
}

export function sampleFailure(failure: SampleFailure): Failure {
  return createFailure({ phase: null, cause: "agent", ...failure });
}

/** Returns a trial that passed after 34 seconds, with changes. */
export function sampleUnit(sample: SampleUnit = {}): Unit {
  const {
    agent = "cpe",
    dataset = "terminal-bench",
    task = "chess",
    attempt = 1,
    reward,
    failure,
    ...changes
  } = sample;
  const value = reward === undefined ? (failure ? null : 1) : reward;
  return {
    index: 0,
    key: `${agent}/${dataset}/${task}__${attempt}`,
    labels: { agent, dataset, task, attempt: String(attempt) },
    status: failure ? "failed" : "completed",
    scores: [{ name: "reward", value }],
    failure: failure ? sampleFailure(failure) : null,
    phases: [],
    usage: null,
    spendUsd: 0,
    tries: 1,
    startedAt: 0,
    endedAt: null,
    durationSec: 34,
    artifacts: [],
    warnings: [],
    untrusted: [],
    details: {},
    ...changes,
  };
}
