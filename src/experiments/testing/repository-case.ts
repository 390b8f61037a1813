import assert from "node:assert/strict";
import { toRaw } from "../../base/raw-json.ts";
import type { Run } from "../../store/run.ts";
import type { StoredExample } from "../output/experiment-output.ts";
import type { ExperimentRepository } from "../output/experiment-repository.ts";
import type { PlannedRun } from "../run/example.ts";
import {
  endSample,
  sampleAnswer,
  sampleEvaluation,
  sampleExamples,
  sampleExperiment,
  sampleRuns,
  saveEvaluations,
} from "./sample-experiment.ts";

/** One guarantee of the `ExperimentRepository` contract. */
export interface RepositoryCase {
  readonly title: string;
  run(repository: ExperimentRepository): Promise<void>;
}

/** Evaluations of the first run of `beginPart`. */
export const right = sampleEvaluation("right", { label: "ok", explanation: "é", metadata: toRaw({ k: [1] }) });
export const failedSmall = sampleEvaluation("small", { score: null, error: "no" });

/** Returns every stored example. */
export const storedOf = (repository: ExperimentRepository, id: string): Promise<StoredExample[]> =>
  Array.fromAsync(repository.runs(id));

/** Returns the scores of a stored example by evaluator. */
export function scoresOf(stored: StoredExample | undefined): Record<string, number | null> {
  return Object.fromEntries([...(stored?.evaluations ?? [])].map(([name, { score }]) => [name, score]));
}

/** Returns an experiment that must be there. */
export async function find(repository: ExperimentRepository, id: string): Promise<Run> {
  const run = await repository.find(id);
  assert.ok(run);
  return run;
}

/** Begins an experiment that stops without an end after three of six runs: two succeed, the third fails. */
export async function beginPart(
  repository: ExperimentRepository,
): Promise<{ id: string; runs: [PlannedRun, PlannedRun, PlannedRun, ...PlannedRun[]] }> {
  const experiment = sampleExperiment();
  const [first, second, third, ...others] = await sampleRuns();
  assert.ok(first && second && third);
  await using output = await repository.begin(experiment, sampleExamples);
  assert.equal(output.findStored, null);
  // Results arrive in the order in which the runs end.
  await output.saveTask(sampleAnswer(third, "too slow"));
  await output.saveTask(sampleAnswer(first));
  await output.saveTask(sampleAnswer(second));
  await saveEvaluations(output, first, [right, failedSmall]);
  await saveEvaluations(output, second, [sampleEvaluation("small")]);
  return { id: experiment.id, runs: [first, second, third, ...others] };
}

/** Begins and completes an experiment. */
export async function beginComplete(repository: ExperimentRepository): Promise<string> {
  const experiment = sampleExperiment();
  await using output = await repository.begin(experiment, sampleExamples);
  for (const run of await sampleRuns()) await output.saveTask(sampleAnswer(run));
  await endSample(output);
  return experiment.id;
}
