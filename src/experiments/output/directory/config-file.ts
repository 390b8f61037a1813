import { join } from "node:path";
import { noSecrets } from "../../../base/redactor.ts";
import { writeJsonAtomic } from "../../../base/writers/atomic-file.ts";
import type { Run } from "../../../store/run.ts";
import { readPlan } from "../plan-experiment.ts";

/** Writes config.json: what the experiment was started with, for people and programs. */
export async function writeConfig(directory: string, run: Run): Promise<void> {
  const { params, repetitions, evaluators, passAt, file, dataset, datasetId, datasetVersion, dataHash, experiment } =
    readPlan(run);
  const config = {
    name: experiment,
    experiment_id: run.id,
    file,
    dataset,
    dataset_id: datasetId,
    dataset_version: datasetVersion,
    dataset_hash: dataHash,
    params,
    repetitions,
    max_workers: run.plan.concurrency,
    evaluators,
    pass_at: passAt,
    total_runs: run.plan.total,
    started_at: new Date(run.createdAt).toISOString(),
    description: run.description,
    tags: run.tags,
  };
  await writeJsonAtomic(join(directory, "config.json"), config, noSecrets);
}
