import type { RunHead, Unit } from "../../store/run.ts";

/** A job of trials with nothing special about it, for tests. */
export function sampleHead(changes: Partial<RunHead> = {}): RunHead {
  return {
    id: "run-1",
    kind: "job",
    name: "tb2-sweep",
    total: 54,
    concurrency: 4,
    shape: { groupBy: ["agent", "dataset"], itemLabel: "task", markName: "reward", passAt: 1, unitNoun: "trial" },
    metrics: ["mean"],
    location: "jobs/tb2-sweep",
    ...changes,
  };
}

export interface SampleUnit extends Partial<Omit<Unit, "labels">> {
  readonly agent?: string;
  readonly dataset?: string;
  readonly task?: string;
  readonly attempt?: number;
  readonly reward?: number | null;
}

/** A trial that passed after 34 seconds, unless told otherwise. */
export function sampleUnit(sample: SampleUnit = {}): Unit {
  const { agent = "cpe", dataset = "terminal-bench", task = "chess", attempt = 1, reward, ...changes } = sample;
  const mark = reward === undefined ? (changes.failure ? null : 1) : reward;
  return {
    key: `${agent}/${dataset}/${task}__${attempt}`,
    labels: { agent, dataset, task, attempt: String(attempt) },
    marks: [{ name: "reward", value: mark }],
    failure: null,
    phases: [],
    durationSec: 34,
    cost: 0,
    tries: 1,
    warnings: [],
    ...changes,
  };
}
