import "../base/check-node.ts";
import { systemClock } from "../base/clock.ts";
import { readHost } from "../base/host.ts";
import { readOwner } from "../base/process-owner.ts";
import type { CompleteRunConfig, DataItem, RunConfig } from "../datasets/run-config.ts";
import { runDataset as runDatasetOn } from "../datasets/run-dataset.ts";
import type { RunSummary } from "../datasets/summary.ts";
import { commandTarget as commandTargetIn, type CommandTargetOptions } from "../datasets/targets/command-target.ts";
import type { FunctionTarget } from "../datasets/targets/target.ts";
import * as create from "../datasets/dataset/create-dataset.ts";
import * as exporting from "../datasets/dataset/export-dataset.ts";
import * as importing from "../datasets/dataset/import-dataset.ts";
import * as reading from "../datasets/dataset/read-items.ts";
import * as writing from "../datasets/dataset/write-items.ts";
import { readOrigin } from "./read-origin.ts";
import { followSignal } from "../engine/abort-reason.ts";
import { openStore as openStoreWith } from "../store/registry.ts";
import type { DatasetItem, DatasetRecord, DatasetVersion, ItemChange } from "../store/dataset-store.ts";
import type { Store } from "../store/store.ts";

export type { CompleteRunConfig, DataItem, RunConfig } from "../datasets/run-config.ts";
export type { EventListener } from "../store/run-events.ts";
export type * from "../store/run.ts";
export type * from "../store/run-source.ts";
export type { ItemResult, ItemWithScores, RunSummary, ScorerResult, ScorerSummary } from "../datasets/summary.ts";
export type { CommandTargetOptions };
export { httpTarget, type HttpTargetOptions } from "../datasets/targets/http-target.ts";
export type { FunctionScorerRun, ScorerAnswer, ScorerFunction } from "../datasets/scorers/resolve-scorers.ts";
export type { Registry } from "../datasets/targets/registry.ts";
export { withUsage, type FunctionCall, type Target } from "../datasets/targets/target.ts";
export type { Json, JsonObject } from "../base/json.ts";
export type { Problem } from "../base/problem.ts";
export { RolloutError } from "../base/rollout-error.ts";
export { createDataset, type CreateDatasetRequest } from "../datasets/dataset/create-dataset.ts";
export type { ExportOutcome } from "../datasets/dataset/export-dataset.ts";
export type { ItemFormat } from "../formats/source-entry.ts";
export type { FieldMapping } from "../datasets/dataset/formats/to-item.ts";
export type { ImportOutcome } from "../datasets/dataset/import-dataset.ts";
export type * from "../store/dataset-store.ts";
export type * from "../store/run-store.ts";
export type { Page, PageRequest, Store } from "../store/store.ts";

export interface OpenStoreOptions {
  /** `read` makes nothing and rejects with `not_found` when there is no store. */
  readonly access?: "write" | "read" | undefined;
}

/** Opens a store: a file (made when it is not there), `memory:`, or `postgres://…`; the caller disposes it. */
export function openStore(location = ".rollout/rollout.db", options: OpenStoreOptions = {}): Promise<Store> {
  return openStoreWith({ location, host: readHost(process), clock: systemClock, access: options.access ?? "write" });
}

/**
 * Runs every item of a dataset against a target and marks what comes out. Rejects only before anything began; after that
 * every end, an abort as well, is a summary.
 */
export async function runDataset<Item extends DataItem>(config: RunConfig<Item>): Promise<RunSummary> {
  const host = readHost(process);
  const origin = await readOrigin(host);
  const context = { clock: systemClock, owner: readOwner(host), origin, random: Math.random };
  return await runDatasetOn(config as RunConfig, context);
}

/** A target that runs a command for each item: its input on stdin, its output from stdout. */
export function commandTarget(options: CommandTargetOptions): FunctionTarget {
  return commandTargetIn(options, process.env);
}

/** A run for `rollout eval` to find in a file; it is returned as it is. */
export function defineEval<Item extends DataItem>(config: CompleteRunConfig<Item>): RunConfig {
  return config;
}

type Request<T extends { readonly signal: AbortSignal }> = Omit<T, "signal"> & { readonly signal?: AbortSignal };

function complete<T extends { readonly signal: AbortSignal }>(request: Request<T>, what: string): T {
  return { ...request, signal: followSignal(request.signal, what) } as T;
}

/** Changes what is said of a dataset; a new schema must allow every item of the newest version. */
export function updateDataset(request: Request<create.UpdateDatasetRequest>): Promise<DatasetRecord> {
  return create.updateDataset(complete(request, "the change"));
}

/** Makes one version of a dataset out of items given in code; all or nothing, and every problem at once. */
export function writeItems(request: Request<writing.WriteItemsRequest>): Promise<DatasetVersion> {
  return writing.writeItems(complete(request, "the write"));
}

/** The items of a version one by one, in their order. */
export function readItems(request: Request<reading.ReadItemsRequest>): AsyncGenerator<DatasetItem, void> {
  return reading.readItems(complete(request, "reading"));
}

/** The items that differ between two versions, one by one. */
export function diffVersions(request: Request<reading.DiffVersionsRequest>): AsyncGenerator<ItemChange, void> {
  return reading.diffVersions(complete(request, "reading"));
}

/** Makes one version of a dataset out of a JSONL, JSON or CSV file; all or nothing, and every problem at once. */
export function importDataset(request: Request<importing.ImportDatasetRequest>): Promise<importing.ImportOutcome> {
  return importing.importDataset(complete(request, "the import"));
}

/** Writes a version of a dataset to a JSONL, JSON or CSV file, or to whoever takes the text. */
export function exportDataset(request: Request<exporting.ExportDatasetRequest>): Promise<exporting.ExportOutcome> {
  return exporting.exportDataset(complete(request, "the export"));
}
