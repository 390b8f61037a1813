import { randomUUID } from "node:crypto";
import type { Host } from "../../base/host.ts";
import { readOwner, type ProcessOwner } from "../../base/process-owner.ts";
import { RolloutError, type ErrorCode } from "../../base/rollout-error.ts";
import type { DatasetRecord, DatasetTraits, DatasetVersion, NewItem, WriteWish } from "../dataset-store.ts";
import { readAll } from "../read-all.ts";
import type { Store } from "../store.ts";

/** The store under test. It may contain datasets and runs of other cases. */
export interface StoreSubject {
  readonly store: Store;
  readonly host: Host;
  /** Moves the clock of the store forward. */
  readonly elapse: (ms: number) => Promise<void>;
}

/** One guarantee of the store contract, checked with `node:assert`. */
export interface StoreCase {
  /** The guarantee, in one sentence. */
  readonly title: string;
  run(subject: StoreSubject): Promise<void>;
}

/** Returns a name that no other case uses. */
export function newName(stem: string): string {
  return `${stem} ${randomUUID()}`;
}

export function createDataset({ store }: StoreSubject, traits: Partial<DatasetTraits> = {}): Promise<DatasetRecord> {
  return store.datasets.create({
    name: newName("dataset"),
    description: null,
    metadata: {},
    inputSchema: null,
    expectedOutputSchema: null,
    scorerIds: null,
    ...traits,
  });
}

interface Change extends Partial<Omit<WriteWish, "datasetId">> {
  readonly put?: readonly NewItem[];
  readonly remove?: readonly string[];
}

/** Puts and removes items in one write. */
export async function change({ store }: StoreSubject, datasetId: string, request: Change): Promise<DatasetVersion> {
  await using write = await store.datasets.openWrite({ datasetId, mode: "merge", note: null, ...request });
  if (request.put) await write.put(request.put);
  if (request.remove) await write.remove(request.remove);
  return await write.commit();
}

/** Ids and inputs of a version, in order. */
export async function readInputs({ store }: StoreSubject, datasetId: string, version: number): Promise<unknown[]> {
  const items = await readAll<{ id: string; input: unknown }, number>((after) =>
    store.datasets.items(datasetId, version, { after, limit: 2 }),
  );
  return items.map(({ id, input }) => [id, input]);
}

/** This process. */
export function living({ host }: StoreSubject): ProcessOwner {
  return readOwner(host);
}

/** A process of this machine that has ended. */
export function dead({ host }: StoreSubject): ProcessOwner {
  return { ...readOwner(host), pid: 2 ** 30, startTicks: 1 };
}

/** A process of another machine. */
export function distant({ host }: StoreSubject): ProcessOwner {
  return { ...readOwner(host), hostname: `${host.hostname}-elsewhere` };
}

/** Returns a check for errors with a code. */
export function hasCode(code: ErrorCode): (thrown: unknown) => boolean {
  return (thrown) => thrown instanceof RolloutError && thrown.code === code;
}
