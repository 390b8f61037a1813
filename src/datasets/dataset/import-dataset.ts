import { RolloutError } from "../../base/rollout-error.ts";
import type { DatasetRecord, DatasetTraits, DatasetVersion } from "../../store/dataset-store.ts";
import type { Store } from "../../store/store.ts";
import { planDataset } from "./create-dataset.ts";
import { openDatasetWriter } from "./dataset-writer.ts";
import type { CellReading } from "../../formats/csv-cell.ts";
import { decodeText } from "../../formats/decode-text.ts";
import { readBytes } from "../../formats/read-bytes.ts";
import { readCsv } from "../../formats/read-csv.ts";
import { readJsonArray } from "../../formats/read-json-array.ts";
import { readJsonLines } from "../../formats/read-json-lines.ts";
import { formatOf, itemFormats, type ItemFormat, type SourceEntry } from "../../formats/source-entry.ts";
import { findDataset } from "./find-dataset.ts";
import { itemColumns, toItem, type FieldMapping } from "./formats/to-item.ts";
import { UnseenFields } from "./formats/unseen-fields.ts";

export interface ImportDatasetRequest {
  readonly store: Store;
  /** Id or name; one that is not there is made. */
  readonly dataset: string;
  /** A path, or the bytes of a file with the name to tell problems by. */
  readonly from: string | { readonly name: string; readonly bytes: AsyncIterable<Uint8Array> };
  /** What the file's name says when absent. */
  readonly format?: ItemFormat | undefined;
  /** `replace` makes the new version out of the file alone, `merge` adds to what is there; `replace` when absent. */
  readonly mode?: "merge" | "replace" | undefined;
  readonly note?: string | undefined;
  /** For files whose fields are not called `id`, `input`, `expected_output` and `metadata`. */
  readonly fields?: FieldMapping | undefined;
  /** What of a CSV file is read as JSON: `text` when absent. */
  readonly cells?: CellReading | undefined;
  readonly signal: AbortSignal;
}

export interface ImportOutcome {
  readonly dataset: DatasetRecord;
  readonly version: DatasetVersion;
  /** Items in the file. */
  readonly read: number;
  /** False when the file says what the newest version said already. */
  readonly isNew: boolean;
}

/** Makes one version of a dataset out of a file, item by item; all or nothing, and every problem at once. */
export async function importDataset(request: ImportDatasetRequest): Promise<ImportOutcome> {
  const { store } = request;
  const found = await store.datasets.find(request.dataset);
  // One that is not there is made together with its first version: an import that is killed leaves nothing behind.
  const dataset = found ?? (await planDataset({ name: request.dataset }));
  try {
    return await importInto(dataset, request);
  } catch (error) {
    // A stream that was cut says so in its own words.
    request.signal.throwIfAborted();
    throw error;
  }
}

async function importInto(
  dataset: DatasetRecord | DatasetTraits,
  request: ImportDatasetRequest,
): Promise<ImportOutcome> {
  const before = "version" in dataset ? dataset.version : 0;
  const { store, from, mode = "replace", note = null, fields = null, signal } = request;
  const file = typeof from === "string" ? from : from.name;
  await using writer = await openDatasetWriter(store, dataset, { mode, note }, signal);
  const unseen = new UnseenFields(fields?.expected ?? []);
  for await (const { line, column, ...entry } of readEntries(request, file)) {
    const place = { file, line, column };
    if ("problem" in entry) writer.problems.add({ ...place, message: entry.problem });
    else {
      unseen.look(entry.value);
      const converted = toItem(entry.value, fields);
      if ("problems" in converted) for (const each of converted.problems) writer.problems.add({ ...place, ...each });
      else {
        // Without an id of its own an item of a whole file is its number there, so that the next version tells what changed.
        const id = converted.item.id ?? (mode === "replace" ? String(writer.count + 1) : undefined);
        await writer.add({ ...converted.item, id }, place);
      }
    }
    if (writer.problems.isFull) break;
  }
  if (!writer.problems.isFull) for (const each of unseen.problems()) writer.problems.add({ file, ...each });
  if (writer.count === 0 && writer.problems.isEmpty) writer.problems.add({ file, message: "there are no items in it" });
  const version = await writer.commit(file);
  const now = await findDataset(store, "id" in dataset ? dataset.id : dataset.name);
  return { dataset: now, version, read: writer.count, isNew: version.version > before };
}

function readEntries(request: ImportDatasetRequest, file: string): AsyncIterable<SourceEntry> {
  const { from, fields, cells = "text", signal } = request;
  const format = request.format ?? formatOf(file);
  if (format === null) {
    throw new RolloutError("usage_invalid", `the name of ${file} does not tell its format`, {
      hint: `say which: --format ${itemFormats.join("|")}`,
    });
  }
  const text = decodeText(typeof from === "string" ? readBytes(from, signal) : from.bytes, file);
  if (format === "csv") return readCsv(text, { cells, known: fields === undefined ? itemColumns : null });
  return format === "json" ? readJsonArray(text) : readJsonLines(text);
}
