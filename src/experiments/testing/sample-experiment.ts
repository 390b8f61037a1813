import { randomUUID } from "node:crypto";
import { toRaw } from "../../base/raw-json.ts";
import type { Run } from "../../store/run.ts";
import type { ExampleSource } from "../examples/example-source.ts";
import type { EvalOutcome } from "../executor/executor.ts";
import type { AnsweredRun, EvaluatedRun, ExperimentOutput } from "../output/experiment-output.ts";
import { planExperiment } from "../output/plan-experiment.ts";
import type { Example, PlannedRun } from "../run/example.ts";
import type { ExperimentSummary } from "../run/experiment-tally.ts";
import { planRuns } from "../run/plan-runs.ts";
import { toRun } from "../run/to-run.ts";

const repetitions = 2;

const list: readonly Example[] = Array.from({ length: 3 }, (_, at) => ({
  id: `e ${at} # é`,
  input: toRaw({ at, text: "\u2028 \n" }),
  output: at === 1 ? null : toRaw(at),
  metadata: at === 2 ? toRaw({ tag: "x" }) : null,
}));

/** Three examples. */
export const sampleExamples: ExampleSource = {
  name: "list.jsonl",
  dataset: null,
  count: list.length,
  hash: "the hash",
  plainFile: null,
  async *read() {
    yield list;
  },
};

/** Returns a new experiment with an id of its own: three examples, two repetitions, the evaluators `right` and `small`. */
export function sampleExperiment(
  examples: Pick<ExampleSource, "count" | "name" | "hash" | "dataset"> = sampleExamples,
): Run {
  const id = `x-${randomUUID()}`;
  const evaluators = ["right", "small"];
  const facts = { file: "x.py", examples, params: { model: "m" }, repetitions, evaluators, passAt: 1, maxWorkers: 4 };
  const origin = { description: null, tags: {}, git: null, rolloutVersion: "0.1.0" };
  const owner = { pid: 1, hostname: "elsewhere", bootId: "", startTicks: null };
  return planExperiment({ ...facts, id, name: "x", experiment: "x", location: "" }, { origin, owner, now: startedAt });
}

/** When sample experiments are created and their runs start. */
export const startedAt = 1_700_000_000_000;

/** Returns every run of a sample experiment, in order. */
export async function sampleRuns(): Promise<PlannedRun[]> {
  const groups = await Array.fromAsync(planRuns(sampleExamples.read(), repetitions), (group) => [...group]);
  return groups.flat();
}

/** Returns an evaluation with a score of 0.5. */
export function sampleEvaluation(evaluator: string, changes: Partial<EvalOutcome> = {}): EvalOutcome {
  return { evaluator, score: 0.5, label: null, explanation: null, metadata: null, error: null, ...changes };
}

/** Returns an answered run; one with an error failed. */
export function sampleAnswer(run: PlannedRun, error: string | null = null): AnsweredRun {
  return {
    run,
    outcome: {
      output: error === null ? toRaw({ of: run.runId }) : null,
      metadata: toRaw({ ms: 1 }),
      error,
      isCancelled: false,
    },
    failureType: error === null ? null : "task_timeout",
    startedAt,
    durationMs: 1500,
  };
}

/** Saves evaluations one after the other, as an experiment does. `earlier` are those that the run has already. */
export async function saveEvaluations(
  output: ExperimentOutput,
  run: PlannedRun,
  outcomes: readonly EvalOutcome[],
  { earlier = [], error = null }: { readonly earlier?: readonly EvalOutcome[]; readonly error?: string | null } = {},
): Promise<void> {
  const evaluated: EvaluatedRun = { ...sampleAnswer(run, error), evaluations: earlier };
  const evaluations = [...earlier];
  for (const outcome of outcomes) {
    const at = evaluations.findIndex(({ evaluator }) => evaluator === outcome.evaluator);
    evaluations.splice(at === -1 ? evaluations.length : at, 1, outcome);
    await output.saveEvaluation({ ...evaluated, evaluations: [...evaluations] }, outcome);
  }
}

/** Ends an experiment with a summary. */
export async function endSample(output: ExperimentOutput, changes: Partial<ExperimentSummary> = {}): Promise<void> {
  const summary = sampleSummary(output.run, changes);
  const { succeeded, failed } = summary;
  const state = {
    status: summary.status,
    summary,
    counted: {
      counts: { finished: succeeded + failed, completed: succeeded, failed, cancelled: 0, untrusted: 0 },
      headline: null,
      unknownSpends: 0,
    },
    shape: output.run.shape,
    notes: [],
    isScoring: false,
    now: startedAt + 60_000,
  };
  await output.end(toRun(output.run, state), summary);
}

function sampleSummary({ id, sessions, location }: Run, changes: Partial<ExperimentSummary>): ExperimentSummary {
  return {
    id,
    status: "completed",
    totalRuns: 6,
    succeeded: 6,
    failed: 0,
    skipped: 0,
    failedEvaluations: 0,
    averageScores: { right: 0.5 },
    aggregates: [],
    params: { model: "m" },
    durationSec: 1.5,
    sessions: [...sessions, { startedAt, endedAt: startedAt + 1500, durationSec: 1.5 }],
    scorings: [],
    protocolProblems: { unknown: 0, duplicate: 0, late: 0, malformed: 0, unconfirmed: 0 },
    warnings: [],
    error: null,
    cause: null,
    firstFailure: null,
    location,
    ...changes,
  };
}
