import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { noSecrets } from "../../base/redactor.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { writeStreamAtomic } from "../../base/writers/atomic-stream.ts";
import type { DatasetItem, DatasetRecord } from "../../store/dataset-store.ts";
import type { Store } from "../../store/store.ts";
import { findDataset } from "./find-dataset.ts";
import { writeCsv } from "./formats/write-csv.ts";
import { writeJsonArray, writeJsonLines } from "./formats/write-json.ts";
import { formatOf, itemFormats, type ItemFormat } from "../../formats/source-entry.ts";
import { readItems } from "./read-items.ts";

export interface ExportDatasetRequest {
  readonly store: Store;
  /** Id or name. */
  readonly dataset: string;
  /** The newest when absent. */
  readonly version?: number | undefined;
  /** A path, which is replaced whole or not at all, or somebody who takes the text piece by piece. */
  readonly to: string | { readonly write: (text: string) => void | Promise<void> };
  /** What the file's name says when absent; `jsonl` when it says nothing. */
  readonly format?: ItemFormat | undefined;
  readonly signal: AbortSignal;
}

export interface ExportOutcome {
  readonly dataset: DatasetRecord;
  readonly version: number;
  readonly written: number;
}

/** Writes a version of a dataset out, item by item. */
export async function exportDataset(request: ExportDatasetRequest): Promise<ExportOutcome> {
  const { store, to, signal } = request;
  const dataset = await findDataset(store, request.dataset);
  const version = request.version ?? dataset.version;
  let written = 0;
  async function* items(): AsyncGenerator<DatasetItem, void> {
    // By id: names may change while it lasts.
    for await (const item of readItems({ store, dataset: dataset.id, version, signal })) {
      written++;
      yield item;
    }
  }
  const read = (): AsyncGenerator<DatasetItem, void> => ((written = 0), items());
  const text = writers[chooseFormat(request)](read);
  if (typeof to === "string") {
    if (!existsSync(dirname(to)))
      throw new RolloutError("not_found", `the folder ${dirname(to)} does not exist`, { hint: "make it first" });
    await writeStreamAtomic(to, text, noSecrets);
  } else for await (const piece of text) await to.write(piece);
  return { dataset, version, written };
}

type Writer = (read: () => AsyncIterable<DatasetItem>) => AsyncIterable<string>;

const writers: Readonly<Record<ItemFormat, Writer>> = { jsonl: writeJsonLines, json: writeJsonArray, csv: writeCsv };

function chooseFormat({ format, to }: ExportDatasetRequest): ItemFormat {
  const told = format ?? (typeof to === "string" ? formatOf(to) : "jsonl");
  if (told !== null) return told;
  throw new RolloutError("usage_invalid", `the name of ${to as string} does not tell its format`, {
    hint: `say which: --format ${itemFormats.join("|")}`,
  });
}
