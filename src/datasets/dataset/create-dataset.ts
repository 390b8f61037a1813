import type { DatasetRecord, DatasetTraits } from "../../store/dataset-store.ts";
import type { Store } from "../../store/store.ts";
import { compileItemCheck } from "./check-schema.ts";
import { findDataset } from "./find-dataset.ts";
import { findUnsafeValues } from "./find-unsafe-values.ts";
import { ProblemList } from "../../base/problem-list.ts";
import { readItems } from "./read-items.ts";

type GivenTraits = { readonly [Key in Exclude<keyof DatasetTraits, "name">]?: DatasetTraits[Key] | undefined };

export interface CreateDatasetRequest extends GivenTraits {
  readonly store: Store;
  readonly name: string;
}

/** Makes a dataset without items; rejects with `already_exists` when its name is taken. */
export async function createDataset({ store, ...given }: CreateDatasetRequest): Promise<DatasetRecord> {
  return store.datasets.create(await planDataset(given));
}

/** What is said of a new dataset, with nothing left open; throws when it cannot be said. */
export async function planDataset(given: Omit<CreateDatasetRequest, "store">): Promise<DatasetTraits> {
  const traits: DatasetTraits = {
    name: given.name,
    description: given.description ?? null,
    metadata: given.metadata ?? {},
    inputSchema: given.inputSchema ?? null,
    expectedOutputSchema: given.expectedOutputSchema ?? null,
    scorerIds: given.scorerIds ?? null,
  };
  await checkTraits(traits);
  return traits;
}

export interface UpdateDatasetRequest extends GivenTraits {
  readonly store: Store;
  /** Id or name. */
  readonly dataset: string;
  readonly name?: string | undefined;
  readonly signal: AbortSignal;
}

/** Changes what is said of a dataset; a new schema must allow every item of the newest version. */
export async function updateDataset(request: UpdateDatasetRequest): Promise<DatasetRecord> {
  const { store, dataset, signal, ...given } = request;
  const found = await findDataset(store, dataset);
  const changes = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const traits = { ...found, ...changes } as DatasetRecord;
  await checkTraits(traits);
  if ("inputSchema" in changes || "expectedOutputSchema" in changes) await checkItems(store, traits, signal);
  return store.datasets.update(found.id, changes);
}

async function checkTraits(traits: DatasetTraits): Promise<void> {
  const { metadata, inputSchema, expectedOutputSchema } = traits;
  const problems = new ProblemList();
  if (/@\d+$/.test(traits.name)) {
    const message = "must not end like a version: NAME@3 is version 3 of NAME";
    problems.add({ file: `dataset "${traits.name}"`, path: "name", message });
  }
  for (const unsafe of findUnsafeValues({ metadata, inputSchema, expectedOutputSchema }, [])) {
    problems.add({ file: `dataset "${traits.name}"`, ...unsafe });
  }
  problems.check("the dataset");
  await compileItemCheck(traits);
}

async function checkItems(store: Store, traits: DatasetRecord, signal: AbortSignal): Promise<void> {
  const check = await compileItemCheck(traits);
  const problems = new ProblemList();
  for await (const item of readItems({ store, dataset: traits.id, signal })) {
    for (const problem of check(item)) problems.add({ file: `item "${item.id}"`, ...problem });
    if (problems.isFull) break;
  }
  problems.check("the new schema");
}
