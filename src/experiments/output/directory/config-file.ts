import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Json, JsonObject } from "../../../base/json.ts";
import { noSecrets } from "../../../base/redactor.ts";
import { writeJsonAtomic } from "../../../base/writers/atomic-file.ts";
import type { RunPlan } from "../../../store/run-store.ts";
import { readPlan } from "../plan-experiment.ts";

/** Writes config.json, which makes a directory an experiment. */
export async function writeConfig(directory: string, plan: RunPlan, startedAt: number): Promise<void> {
  const { params, repetitions, evaluators, passAt, file, dataset } = readPlan(plan);
  const config = {
    name: plan.name,
    experiment_id: plan.id,
    file,
    dataset,
    dataset_id: plan.datasetId,
    dataset_version: plan.datasetVersion,
    dataset_hash: plan.identity["dataHash"] ?? null,
    params,
    repetitions,
    max_workers: plan.metadata["maxWorkers"] ?? null,
    evaluators,
    pass_at: passAt,
    total_runs: plan.total,
    started_at: new Date(startedAt).toISOString(),
  };
  await writeJsonAtomic(join(directory, "config.json"), config, noSecrets);
}

/** What config.json says; null when the directory is no experiment. */
export async function readConfig(directory: string): Promise<{ plan: RunPlan; startedAt: number } | null> {
  const config = parse(await readFile(join(directory, "config.json"), "utf8").catch(() => "null"));
  if (config === null || typeof config["experiment_id"] !== "string") return null;
  const { experiment_id: id, name, total_runs: total, params, repetitions, evaluators } = config;
  const plan: RunPlan = {
    id,
    kind: "experiment",
    name: typeof name === "string" ? name : id,
    datasetId: typeof config["dataset_id"] === "string" ? config["dataset_id"] : null,
    datasetVersion: typeof config["dataset_version"] === "number" ? config["dataset_version"] : null,
    total: typeof total === "number" ? total : 0,
    identity: {
      target: name ?? id,
      params: params ?? {},
      scorers: evaluators ?? [],
      repeats: repetitions ?? 1,
      passAt: config["pass_at"] ?? 1,
      dataHash: config["dataset_hash"] ?? null,
    },
    metadata: {
      file: config["file"] ?? null,
      dataset: config["dataset"] ?? null,
      maxWorkers: config["max_workers"] ?? null,
    },
  };
  return { plan, startedAt: timeOf(config["started_at"]) };
}

function timeOf(value: Json | undefined): number {
  return typeof value === "string" ? Date.parse(value) || 0 : 0;
}

function parse(text: string): JsonObject | null {
  try {
    const value = JSON.parse(text) as Json;
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
  } catch {
    return null;
  }
}
