import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { readOwner } from "../../src/base/process-owner.ts";
import { readAll } from "../../src/store/read-all.ts";
import type { DatasetVersion } from "../../src/store/dataset-store.ts";
import { openStore } from "../../src/store/registry.ts";
import type { UnitRow } from "../../src/store/run.ts";
import type { Store } from "../../src/store/store.ts";

const script = fileURLToPath(new URL("./write-in-process.ts", import.meta.url));
const staging = fileURLToPath(new URL("./stage-in-process.ts", import.meta.url));
const host = readHost(process);

/** Opens a store as a command does. */
export function open(location: string): Promise<Store> {
  return openStore({ location, host, clock: systemClock, access: "write" });
}

interface Writer {
  readonly lines: readonly string[];
  readonly code: number | null;
  readonly errors: string;
}

async function startWriter(location: string, name: string, rounds: number, killAfter = Infinity): Promise<Writer> {
  const child = spawn(process.execPath, [script, location, name, String(rounds)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (errors += chunk));
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    text += chunk;
    if (text.split("\n").length > killAfter) child.kill("SIGKILL");
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { lines: text.split("\n").slice(0, -1), code, errors };
}

async function makeDataset(store: Store): Promise<string> {
  const nothing = { description: null, metadata: {}, inputSchema: null, expectedOutputSchema: null, scorerIds: null };
  return (await store.datasets.create({ name: "shared", ...nothing })).id;
}

async function readIndexes(store: Store, runId: string): Promise<Set<number>> {
  const all = await readAll<UnitRow, string>((after) => store.runs.rows(runId, { page: { after, limit: 500 } }));
  return new Set(all.map(({ index }) => index));
}

/** Processes that create the tables, write runs and make versions of one dataset at the same time lose nothing. */
export async function writeTogether(location: string): Promise<void> {
  const rounds = 40;
  // Several create the tables at once.
  const stores = await Promise.all([open(location), open(location), open(location)]);
  for (const each of stores.slice(1)) await each[Symbol.asyncDispose]();
  await using store = stores[0] ?? (await open(location));
  const datasetId = await makeDataset(store);
  const writers = await Promise.all(["one", "two"].map((name) => startWriter(location, name, rounds)));
  for (const { code, errors, lines } of writers) {
    expect(code, errors).toBe(0);
    expect(lines.at(-1)).toBe("ended");
  }
  for (const name of ["one", "two"]) {
    expect((await readIndexes(store, name)).size).toBe(rounds * 10);
    expect(await store.runs.get(name)).toMatchObject({ status: "completed", owner: null });
  }
  const versions = await readAll<DatasetVersion, number>((after) =>
    store.datasets.versions(datasetId, { after, limit: 7 }),
  );
  expect(versions.map(({ version }) => version)).toEqual(Array.from({ length: 20 }, (_, n) => 20 - n));
  expect(versions[0]?.itemCount).toBe(201);
}

/** A process that is killed while it creates a dataset leaves none, and the next write deletes what it staged. */
export async function killMaker(location: string): Promise<void> {
  await using store = await open(location);
  const datasetId = (await store.datasets.find("shared"))?.id ?? (await makeDataset(store));
  const child = spawn(process.execPath, [staging, location, "unmade"], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  await once(child, "close");
  expect(await store.datasets.find("unmade")).toBeNull();
  expect((await store.datasets.list({ after: null, limit: 100 })).entries.map(({ name }) => name)).toEqual(["shared"]);
  await using write = await store.datasets.openWrite({ datasetId, mode: "merge", note: null });
  await write.commit();
}

/** All acknowledged writes of a killed process are stored, no write is stored in part, and its run can be resumed. */
export async function killWriter(location: string, killAfter: number): Promise<void> {
  await using store = await open(location);
  const datasetId = (await store.datasets.find("shared"))?.id ?? (await makeDataset(store));
  const name = `killed after ${killAfter}`;
  const before = (await store.datasets.find(datasetId))?.version ?? 0;
  const { lines, code } = await startWriter(location, name, 10_000, killAfter);
  expect(code).toBeNull();
  expect(await store.runs.get(name)).toMatchObject({ status: "interrupted", owner: null });

  const indexes = await readIndexes(store, name);
  const acknowledged = lines.filter((line) => line.startsWith("units")).map((line) => Number(line.split(" ")[1]));
  for (const round of acknowledged) for (let n = 0; n < 10; n++) expect(indexes).toContain(round * 10 + n);
  // A batch is stored completely or not at all.
  expect(indexes.size % 10).toBe(0);

  const versions = lines.filter((line) => line.startsWith("version")).map((line) => Number(line.split(" ")[1]));
  const dataset = await store.datasets.find(datasetId);
  expect(dataset?.version).toBeGreaterThanOrEqual(Math.max(before, ...versions));
  const items = await readAll<{ id: string }, number>((after) =>
    store.datasets.items(datasetId, dataset?.version ?? 0, { after, limit: 500 }),
  );
  expect(items.length).toBe(dataset?.itemCount);

  const lease = await store.runs.resume(name, readOwner(host));
  await lease.end({ ...lease.run, status: "failed", error: "killed" });
  // The next write deletes what the dead one staged.
  await using write = await store.datasets.openWrite({ datasetId, mode: "merge", note: null });
  await write.put([{ id: `after ${killAfter}`, input: 1 }]);
  expect((await write.commit()).version).toBe((dataset?.version ?? 0) + 1);
}
