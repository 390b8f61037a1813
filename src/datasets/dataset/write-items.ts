import type { DatasetVersion, NewItem } from "../../store/dataset-store.ts";
import type { Store } from "../../store/store.ts";
import { openDatasetWriter } from "./dataset-writer.ts";
import { findDataset } from "./find-dataset.ts";
import { findUnsafeValues } from "./find-unsafe-values.ts";

export interface WriteItemsRequest {
  readonly store: Store;
  /** Id or name. */
  readonly dataset: string;
  /** Read one by one, so that they need not fit in memory. */
  readonly put?: Iterable<NewItem> | AsyncIterable<NewItem> | undefined;
  /** Ids; what is not there is passed over. */
  readonly remove?: readonly string[] | undefined;
  /** `replace` removes every item that is not put again; `merge` when absent. */
  readonly mode?: "merge" | "replace" | undefined;
  readonly note?: string | undefined;
  readonly signal: AbortSignal;
}

const known: readonly string[] = ["id", "input", "expectedOutput", "metadata", "scorerIds"];

/** Makes one version of a dataset out of items given in code; all or nothing, and every problem at once. */
export async function writeItems(request: WriteItemsRequest): Promise<DatasetVersion> {
  const { store, put = [], remove = [], mode = "merge", note = null, signal } = request;
  const dataset = await findDataset(store, request.dataset);
  await using writer = await openDatasetWriter(store, dataset, { mode, note }, signal);
  if (remove.length > 0) await writer.remove(remove);
  let index = 0;
  for await (const item of put) {
    const prefix = `[${index++}]`;
    const unsafe = problemsOf(item);
    for (const { path, message } of unsafe) {
      writer.problems.add({ file: "items", path: path === "" ? prefix : `${prefix}.${path}`, message });
    }
    if (unsafe.length === 0) await writer.add(item, { file: "items", prefix });
    if (writer.problems.isFull) break;
  }
  return await writer.commit("what was to be written");
}

function problemsOf(item: unknown): readonly { readonly path: string; readonly message: string }[] {
  if (typeof item !== "object" || item === null || !("input" in item)) {
    return [{ path: "", message: "an item is an object with an `input`" }];
  }
  const strange = Object.keys(item).find((key) => !known.includes(key));
  if (strange !== undefined) {
    return [{ path: strange, message: `unknown key; an item has ${known.join(", ")}` }];
  }
  const { id, expectedOutput, metadata, scorerIds, input } = item as Partial<Record<string, unknown>>;
  const problems = findUnsafeValues(input, ["input"]);
  if (expectedOutput !== undefined) problems.push(...findUnsafeValues(expectedOutput, ["expectedOutput"]));
  if (metadata !== undefined) problems.push(...findUnsafeValues(metadata, ["metadata"]));
  return [...problems, ...shapeProblems({ id, metadata, scorerIds })];
}

/** What is wrong with the parts of an item that have a shape. */
export function shapeProblems(parts: { id: unknown; metadata: unknown; scorerIds: unknown }) {
  const { id, metadata, scorerIds } = parts;
  const problems: { path: string; message: string }[] = [];
  if (id !== undefined && (typeof id !== "string" || id === "")) {
    problems.push({ path: "id", message: "must be a text that is not empty" });
  }
  if (metadata !== undefined && (typeof metadata !== "object" || metadata === null || Array.isArray(metadata))) {
    problems.push({ path: "metadata", message: "must be an object" });
  }
  if (scorerIds !== undefined && !(Array.isArray(scorerIds) && scorerIds.every((each) => typeof each === "string"))) {
    problems.push({ path: "scorerIds", message: "must be a list of texts" });
  }
  return problems;
}
