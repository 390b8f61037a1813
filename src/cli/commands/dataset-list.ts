import { plainText } from "../../base/terminal-text.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { findDataset } from "../../datasets/dataset/find-dataset.ts";
import { countText } from "../../report/number-text.ts";
import { renderTable, type Column } from "../../report/text-table.ts";
import type { DatasetRecord, DatasetVersion } from "../../store/dataset-store.ts";
import { readAll } from "../../store/read-all.ts";
import type { Store } from "../../store/store.ts";
import type { CliContext } from "../cli-context.ts";
import { datasetJson, jsonText, versionJson } from "../dataset-json.ts";
import { exitCodes } from "../exit-codes.ts";
import { isMissingStore, storeLocation } from "../open-store.ts";
import { storeWords, withStore, type StoreOptions } from "../with-store.ts";
import { shellWord } from "../../base/shown-path.ts";

const pageSize = 200;

/** `rollout dataset list`: the datasets of a store. */
export async function listDatasetsCommand(options: StoreOptions, context: CliContext): Promise<number> {
  try {
    return await listDatasets(options, context);
  } catch (error) {
    if (!isMissingStore(error)) throw error;
    const store = storeLocation(options.store, context);
    if (options.json) context.terminal.out(jsonText({ store, datasets: [] }));
    else {
      context.terminal.out(`${plainText(error.message)}, so there are no datasets\n`);
      context.terminal.out(`next: rollout dataset import FILE${storeWords(options, store)}\n`);
    }
    return exitCodes.done;
  }
}

function listDatasets(options: StoreOptions, context: CliContext): Promise<number> {
  const { terminal } = context;
  return withStore(options, "read", context, async (store) => {
    const all = await readAll<DatasetRecord, string>((after) => store.datasets.list({ after, limit: pageSize }));
    if (options.json) terminal.out(jsonText({ store: store.location, datasets: all.map(datasetJson) }));
    else if (all.length === 0) {
      terminal.out(`${plainText(`${store.location} holds no dataset`)}\n`);
      terminal.out(`next: rollout dataset import FILE${storeWords(options, store.location)}\n`);
    } else {
      print(context, [
        text(
          "name",
          all.map(({ name }) => name),
        ),
        count(
          "version",
          all.map(({ version }) => version),
        ),
        count(
          "items",
          all.map(({ itemCount }) => itemCount),
        ),
        text(
          "changed",
          all.map(({ updatedAt }) => timeText(updatedAt)),
        ),
        text(
          "description",
          all.map(({ description, version }) => description ?? (version === 0 ? "nothing was written to it yet" : "")),
        ),
      ]);
      next(context, `show ${shellWord(all[0]?.name ?? "")}`, options, store);
    }
    return exitCodes.done;
  });
}

/** `rollout dataset versions`: what each write made of a dataset, newest first. */
export async function listVersionsCommand(name: string, options: StoreOptions, context: CliContext): Promise<number> {
  const { terminal } = context;
  return withStore(options, "read", context, async (store) => {
    const dataset = await findDataset(store, name);
    const all = await readAll<DatasetVersion, number>((after) =>
      store.datasets.versions(dataset.id, { after, limit: pageSize }),
    );
    if (options.json) terminal.out(jsonText({ dataset: dataset.name, versions: all.map(versionJson) }));
    else if (all.length === 0) terminal.out(plainText(`${dataset.name} has no version yet`) + "\n");
    else {
      const columns = ["version", "itemCount", "added", "changed", "removed"] as const;
      print(context, [
        ...columns.map((key) =>
          count(
            key === "itemCount" ? "items" : key,
            all.map((version) => version[key]),
          ),
        ),
        text(
          "made",
          all.map(({ createdAt }) => timeText(createdAt)),
        ),
        text(
          "note",
          all.map(({ note }) => note ?? ""),
        ),
      ]);
      if (all.length > 1) next(context, `diff ${shellWord(name)}`, options, store);
    }
    return exitCodes.done;
  });
}

/** `rollout dataset remove`: takes a dataset away with all its versions. */
export async function removeDatasetCommand(
  name: string,
  options: StoreOptions & { readonly yes?: boolean },
  context: CliContext,
): Promise<number> {
  return withStore(options, "write", context, async (store) => {
    const dataset = await findDataset(store, name);
    const what = `${dataset.name} with ${countText(dataset.version, "version")} and ${countText(dataset.itemCount, "item")}`;
    if (options.yes !== true) {
      throw new RolloutError("usage_invalid", `this would remove ${what} for good`, { hint: "say so with --yes" });
    }
    await store.datasets.remove(dataset.id);
    if (options.json) context.terminal.out(jsonText({ removed: datasetJson(dataset) }));
    else context.terminal.out(plainText(`removed ${what}`) + "\n");
    return exitCodes.done;
  });
}

function next({ terminal }: CliContext, words: string, options: StoreOptions, store: Store): void {
  terminal.out(`next: rollout dataset ${words}${storeWords(options, store.location)}\n`);
}

function print({ terminal }: CliContext, table: readonly Column[]): void {
  for (const line of renderTable(table, terminal.columns())) terminal.out(`${line}\n`);
}

function text(title: string, cells: readonly string[]): Column {
  return { title, align: "left", cells: cells.map((cell) => ({ text: plainText(cell) })), cutTo: 24 };
}

function count(title: string, cells: readonly number[]): Column {
  return { title, align: "right", cells: cells.map((cell) => ({ text: cell.toLocaleString("en-US") })) };
}

function timeText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}
