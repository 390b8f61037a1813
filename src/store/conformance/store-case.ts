import { randomUUID } from "node:crypto";
import type { Host } from "../../base/host.ts";
import { readOwner, type ProcessOwner } from "../../base/process-owner.ts";
import { RolloutError, type ErrorCode } from "../../base/rollout-error.ts";
import type { DatasetRecord, DatasetTraits, DatasetVersion, NewItem, WriteWish } from "../dataset-store.ts";
import type { RunPlan, StoredResult, StoredScore } from "../run-store.ts";
import { readAll } from "../read-all.ts";
import type { Store } from "../store.ts";

/** What a case works with; the store may hold things of others. */
export interface StoreSubject {
  readonly store: Store;
  readonly host: Host;
  /** Lets the store believe that so much time has passed. */
  readonly elapse: (ms: number) => Promise<void>;
}

/** One promise of the store contract, checked with `node:assert`. */
export interface StoreCase {
  /** A sentence about what holds. */
  readonly title: string;
  run(subject: StoreSubject): Promise<void>;
}

/** A name that nobody else has. */
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

/** Puts and removes in one write. */
export async function change({ store }: StoreSubject, datasetId: string, wish: Change): Promise<DatasetVersion> {
  await using write = await store.datasets.openWrite({ datasetId, mode: "merge", note: null, ...wish });
  if (wish.put) await write.put(wish.put);
  if (wish.remove) await write.remove(wish.remove);
  return await write.commit();
}

/** Ids and inputs of a version, in order. */
export async function readInputs({ store }: StoreSubject, datasetId: string, version: number): Promise<unknown[]> {
  const items = await readAll<{ id: string; input: unknown }, number>((after) =>
    store.datasets.items(datasetId, version, { after, limit: 2 }),
  );
  return items.map(({ id, input }) => [id, input]);
}

export function planRun(changes: Partial<RunPlan> = {}): RunPlan {
  return {
    id: randomUUID(),
    kind: "dataset",
    name: "a run",
    datasetId: null,
    datasetVersion: null,
    total: 3,
    identity: { target: "echo" },
    metadata: {},
    ...changes,
  };
}

export function resultOf(index: number, changes: Partial<StoredResult> = {}): StoredResult {
  return {
    index,
    itemId: `item-${index}`,
    repeat: 1,
    itemVersion: 1,
    status: "succeeded",
    input: { index },
    output: [index],
    error: null,
    startedAt: 1_000 + index,
    completedAt: 2_000 + index,
    retryCount: 0,
    traceId: null,
    extra: {},
    ...changes,
  };
}

export function scoreOf(index: number, scorerId: string, changes: Partial<StoredScore> = {}): StoredScore {
  return { index, scorerId, scorerName: scorerId, score: 0.5, reason: null, error: null, extra: {}, ...changes };
}

/** This process, which is alive. */
export function living({ host }: StoreSubject): ProcessOwner {
  return readOwner(host);
}

/** A process of this machine that is no more. */
export function dead({ host }: StoreSubject): ProcessOwner {
  return { ...readOwner(host), pid: 2 ** 30, startTicks: 1 };
}

/** A process of another machine. */
export function distant({ host }: StoreSubject): ProcessOwner {
  return { ...readOwner(host), hostname: `${host.hostname}-elsewhere` };
}

/** Tells a rejection with the given code from any other. */
export function hasCode(code: ErrorCode): (thrown: unknown) => boolean {
  return (thrown) => thrown instanceof RolloutError && thrown.code === code;
}
