import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { readOwner } from "../../src/base/process-owner.ts";
import { sampleRun, sampleUnit } from "../../src/store/conformance/sample-run.ts";
import { openStore } from "../../src/store/registry.ts";
import { parseFilter } from "../../src/store/filter.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { killMaker, killWriter, open, writeTogether } from "./process-scenarios.ts";

const host = readHost(process);
const traits = { description: null, metadata: {}, inputSchema: null, expectedOutputSchema: null, scorerIds: null };

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "rollout-sqlite-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** Mounts a small disk that no other test uses. */
function mountDisk(size: string): { directory: string; remount: (options: string) => void } {
  const directory = makeDirectory();
  const mount = (...args: string[]): void => {
    const { status, stderr } = spawnSync("mount", args, { encoding: "utf8" });
    if (status !== 0) throw new Error(stderr);
  };
  mount("-t", "tmpfs", "-o", `size=${size}`, "tmpfs", directory);
  onTestFinished(() => void spawnSync("umount", ["-l", directory]));
  return { directory, remount: (options) => mount("-o", `remount,${options}`, directory) };
}

test("two processes write to one file at the same time and lose nothing", async () => {
  await writeTogether(join(makeDirectory(), "store.db"));
});

test("keeps every acknowledged write of a killed process, and its run can be resumed", async () => {
  const location = join(makeDirectory(), "store.db");
  for (const killAfter of [2, 9, 31, 77]) await killWriter(location, killAfter);
  const left = new DatabaseSync(location, { readOnly: true });
  expect(left.prepare("SELECT count(*) AS n FROM rollout_staged").get()).toEqual({ n: 0 });
  left.close();
});

test("a process that is killed while it creates a dataset leaves none", async () => {
  const location = join(makeDirectory(), "store.db");
  await killMaker(location);
  using left = new DatabaseSync(location, { readOnly: true });
  expect(left.prepare("SELECT count(*) AS n FROM rollout_datasets").get()).toEqual({ n: 1 });
});

describe("a full disk", () => {
  test("is reported, loses nothing that was stored, and is over once there is space", async (context) => {
    if (host.uid !== 0) cannotRun(context, "mounting a disk requires root");
    const disk = mountDisk("2m");
    const location = join(disk.directory, "store.db");
    await using store = await open(location);
    const run = sampleRun();
    const lease = await store.runs.create(run, readOwner(host));
    const output = "x".repeat(20_000);
    const write = (index: number): Promise<void> => lease.write([sampleUnit(index, { output })]);
    const readRows = async () => (await store.runs.rows(run.id, { page: { after: null, limit: 2_000 } })).entries;
    let written = 0;
    const fill = async (): Promise<void> => {
      for (; written < 1_000; written++) await write(written);
    };
    await expect(fill()).rejects.toMatchObject({
      code: "io_failed",
      transient: false,
      message: expect.stringContaining("disk is full"),
    });
    expect(written).toBeGreaterThan(5);
    expect(await readRows()).toHaveLength(written);
    disk.remount("size=32m");
    await write(written);
    expect(await readRows()).toHaveLength(written + 1);
  });
});

describe("a read-only store", () => {
  test("can be read, and rejects writes", async () => {
    const location = join(makeDirectory(), "store.db");
    {
      await using store = await open(location);
      await store.datasets.create({ name: "d", ...traits });
    }
    await using store = await openStore({ location, host, clock: systemClock, access: "read" });
    expect((await store.datasets.find("d"))?.name).toBe("d");
    await expect(store.datasets.create({ name: "e", ...traits })).rejects.toMatchObject({
      code: "io_failed",
      transient: false,
    });
    expect((await store.datasets.find("d"))?.name).toBe("d");
  });

  test("on a read-only disk can be read, and opening it for writing is an error", async (context) => {
    if (host.uid !== 0) cannotRun(context, "mounting a disk requires root");
    const disk = mountDisk("8m");
    const location = join(disk.directory, "a store? #1 100%.db");
    {
      await using store = await open(location);
      await store.datasets.create({ name: "d", ...traits });
    }
    disk.remount("ro");
    await using store = await openStore({ location, host, clock: systemClock, access: "read" });
    expect((await store.datasets.find("d"))?.name).toBe("d");
    await expect(open(location)).rejects.toMatchObject({ code: "io_failed", transient: false });
  });

  test("without tables is reported as missing", async () => {
    const location = join(makeDirectory(), "store.db");
    new DatabaseSync(location).close();
    await expect(openStore({ location, host, clock: systemClock, access: "read" })).rejects.toMatchObject({
      code: "not_found",
    });
  });
});

test.each([0, 3, 99])(
  "a store with schema version %i is refused for writing, read as far as it fits, and left as it is",
  async (version) => {
    const location = join(makeDirectory(), "store.db");
    await (await open(location))[Symbol.asyncDispose]();
    {
      using database = new DatabaseSync(location);
      database.exec(`UPDATE rollout_schema SET version = ${version}`);
    }
    await using reader = await openStore({ location, host, clock: systemClock, access: "read" });
    expect((await reader.runs.list({}, { after: null, limit: 1 })).entries).toEqual([]);
    await expect(openStore({ location, host, clock: systemClock, access: "write" })).rejects.toMatchObject({
      code: "unsupported",
      message: `the store ${location} has schema version ${version}; this rollout writes version 1`,
      hint: expect.stringContaining("delete"),
    });
    using database = new DatabaseSync(location);
    expect(database.prepare("SELECT version FROM rollout_schema").all()).toEqual([{ version }]);
  },
);

test("reads rows and lists of a run without its bodies", async () => {
  const location = join(makeDirectory(), "store.db");
  await using store = await open(location);
  const run = sampleRun();
  await (await store.runs.create(run, readOwner(host))).write([0, 1, 2].map((n) => sampleUnit(n)));
  using database = new DatabaseSync(location);
  database.exec("UPDATE rollout_units SET body = 'not JSON'");
  const filter = parseFilter("status:completed");
  const { entries } = await store.runs.rows(run.id, {
    filter,
    sort: { by: "score", isDescending: true },
    page: { after: null, limit: 5 },
  });
  expect(entries).toHaveLength(3);
  expect((await store.runs.list({}, { after: null, limit: 5 })).entries).toHaveLength(1);
  await expect(store.runs.units(run.id, { page: { after: null, limit: 5 } })).rejects.toThrow();
});

test("a removed run that was not deleted completely is deleted when its id is used again", async () => {
  const location = join(makeDirectory(), "store.db");
  await using store = await open(location);
  const run = sampleRun();
  const lease = await store.runs.create(run, readOwner(host));
  await lease.write([sampleUnit(0), sampleUnit(1)]);
  await lease.end({ ...run, status: "completed" });
  using database = new DatabaseSync(location);
  database.exec("UPDATE rollout_runs SET is_removed = 1");
  expect(await store.runs.get(run.id)).toBeNull();
  await store.runs.create(run, readOwner(host));
  expect((await store.runs.rows(run.id, { page: { after: null, limit: 5 } })).entries).toEqual([]);
});

test("a writer that waits for another program does not block the event loop", async () => {
  const location = join(makeDirectory(), "store.db");
  await using store = await open(location);
  const other = new DatabaseSync(location);
  other.exec("BEGIN IMMEDIATE");
  const made = store.datasets.create({ name: "d", ...traits });
  let turns = 0;
  const timer = setInterval(() => {
    if (++turns === 5) other.exec("COMMIT");
  }, 5);
  expect((await made).name).toBe("d");
  clearInterval(timer);
  other.close();
  expect(turns).toBeGreaterThanOrEqual(5);
});
