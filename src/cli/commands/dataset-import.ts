import { readFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { addAbortSignal } from "node:stream";
import type { JsonObject } from "../../base/json.ts";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { plainText } from "../../base/terminal-text.ts";
import { createDataset } from "../../datasets/dataset/create-dataset.ts";
import type { ItemFormat } from "../../formats/source-entry.ts";
import { importDataset, type ImportOutcome } from "../../datasets/dataset/import-dataset.ts";
import { countText } from "../../report/number-text.ts";
import type { CliContext } from "../cli-context.ts";
import { datasetJson, jsonText, versionJson } from "../dataset-json.ts";
import { exitCodes } from "../exit-codes.ts";
import { storeWords, withStore, type StoreOptions } from "../with-store.ts";
import { shellWord } from "../../base/shown-path.ts";

export interface ImportOptions extends StoreOptions {
  readonly name?: string;
  readonly format?: ItemFormat;
  readonly merge?: boolean;
  readonly note?: string;
  readonly inputColumns?: readonly string[];
  readonly expectedColumns?: readonly string[];
  readonly idColumn?: string;
  readonly jsonCells?: boolean;
}

/** `rollout dataset import`: makes a version of a dataset out of a file. */
export async function importDatasetCommand(file: string, options: ImportOptions, context: CliContext): Promise<number> {
  const isInput = file === "-";
  const dataset = options.name ?? (isInput ? null : basename(file).replace(/\.[^.]+$/, ""));
  if (dataset === null) throw new RolloutError("usage_invalid", "what comes on stdin needs a --name and a --format");
  const { inputColumns, expectedColumns = [], idColumn = null } = options;
  if (inputColumns === undefined && (expectedColumns.length > 0 || idColumn !== null)) {
    throw new RolloutError("usage_invalid", "--expected-columns and --id-column need --input-columns");
  }
  return withStore(options, "write", context, async (store, signal) => {
    const outcome = await importDataset({
      store,
      dataset,
      from: isInput ? { name: "stdin", bytes: readInput(context.process, signal) } : resolve(context.host.cwd, file),
      format: options.format,
      mode: options.merge ? "merge" : "replace",
      note: options.note,
      fields: inputColumns && { id: idColumn, input: inputColumns, expected: expectedColumns },
      cells: options.jsonCells ? "json" : "text",
      signal,
    });
    print(outcome, options, store.location, context);
    return exitCodes.done;
  });
}

// Somebody who ends the command does not want to wait for the end of its input; who reads it is told why.
function readInput({ stdin }: NodeJS.Process, signal: AbortSignal): AsyncIterable<Uint8Array> {
  return addAbortSignal(signal, stdin).on("error", () => {});
}

function print(outcome: ImportOutcome, options: ImportOptions, location: string, { terminal }: CliContext): void {
  const { dataset, version, read, isNew } = outcome;
  if (options.json) {
    const json = { dataset: datasetJson(dataset), version: versionJson(version), items_read: read, is_new: isNew };
    terminal.out(jsonText(json));
    return;
  }
  const counts = `${version.added} added, ${version.changed} changed, ${version.removed} removed`;
  const what = isNew ? `version ${version.version}: ${counts}` : `nothing differs from version ${version.version}`;
  terminal.out(plainText(`${dataset.name}: ${countText(read, "item")} read, ${what}`) + "\n");
  const doubles = options.merge ? 0 : read - version.itemCount;
  if (doubles > 0) {
    terminal.err(`${countText(doubles, "item")} came with an id that came again; the last one of each counts\n`);
  }
  terminal.out(`next: rollout dataset show ${shellWord(dataset.name)}${storeWords(options, location)}\n`);
}

export interface CreateOptions extends StoreOptions {
  readonly description?: string;
  readonly inputSchema?: string;
  readonly expectedSchema?: string;
}

/** `rollout dataset create`: makes a dataset without items, with what its items must keep to. */
export async function createDatasetCommand(name: string, options: CreateOptions, context: CliContext): Promise<number> {
  const { cwd } = context.host;
  const inputSchema = options.inputSchema === undefined ? null : readSchema(options.inputSchema, cwd);
  const expectedOutputSchema = options.expectedSchema === undefined ? null : readSchema(options.expectedSchema, cwd);
  return withStore(options, "write", context, async (store) => {
    const { description } = options;
    const dataset = await createDataset({ store, name, description, inputSchema, expectedOutputSchema });
    if (options.json) context.terminal.out(jsonText({ dataset: datasetJson(dataset) }));
    else {
      context.terminal.out(plainText(`${dataset.name}: made, without items`) + "\n");
      const words = `${shellWord(name)}${storeWords(options, store.location)}`;
      context.terminal.out(`next: rollout dataset import FILE --name ${words}\n`);
    }
    return exitCodes.done;
  });
}

function readSchema(file: string, cwd: string): JsonObject {
  try {
    const value: unknown = JSON.parse(readFileSync(resolve(cwd, file), "utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as JsonObject;
    throw new RolloutError("config_invalid", "it is no object");
  } catch (error) {
    throw new RolloutError("config_invalid", `${file} is no JSON Schema: ${messageOf(error)}`, { cause: error });
  }
}
