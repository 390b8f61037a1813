import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { readOwner } from "../../src/base/process-owner.ts";
import { planRun, resultOf } from "../../src/store/conformance/store-case.ts";
import { openStore } from "../../src/store/registry.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { killMaker, killWriter, open, writeTogether } from "./process-scenarios.ts";
import { takeOverFirstTables } from "./take-over-first-tables.ts";

const host = readHost(process);
const traits = { description: null, metadata: {}, inputSchema: null, expectedOutputSchema: null, scorerIds: null };

function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "rollout-sqlite-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

/** A disk of its own, as small as wanted. */
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

test("two processes write to one file at once and lose nothing", async () => {
  await writeTogether(join(makeDirectory(), "store.db"));
});

test("what a killed process was told is there, and its run can be taken up", async () => {
  const location = join(makeDirectory(), "store.db");
  for (const killAfter of [2, 9, 31, 77]) await killWriter(location, killAfter);
  const left = new DatabaseSync(location, { readOnly: true });
  expect(left.prepare("SELECT count(*) AS n FROM rollout_staged").get()).toEqual({ n: 0 });
  left.close();
});

test("a process that is killed while it makes a dataset leaves none", async () => {
  const location = join(makeDirectory(), "store.db");
  await killMaker(location);
  using left = new DatabaseSync(location, { readOnly: true });
  expect(left.prepare("SELECT count(*) AS n FROM rollout_datasets").get()).toEqual({ n: 1 });
});

describe("a disk that is full", () => {
  test("is told, costs nothing that was written before, and is no end once there is room", async (context) => {
    if (host.uid !== 0) cannotRun(context, "a disk of one's own takes root");
    const disk = mountDisk("2m");
    const location = join(disk.directory, "store.db");
    await using store = await open(location);
    const plan = planRun();
    const hold = await store.runs.begin(plan, readOwner(host));
    const output = "x".repeat(20_000);
    const write = (index: number): Promise<void> => hold.write({ results: [resultOf(index, { output })], scores: [] });
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
    const before = await store.runs.outcomes(plan.id, { after: null, limit: 2_000 });
    expect(before.entries).toHaveLength(written);
    disk.remount("size=32m");
    await write(written);
    expect((await store.runs.outcomes(plan.id, { after: null, limit: 2_000 })).entries).toHaveLength(written + 1);
  });
});

describe("a store that can only be read", () => {
  test("is read, and refuses to be written to", async () => {
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

  test("because its disk is read-only is read all the same, and told when it is to be written", async (context) => {
    if (host.uid !== 0) cannotRun(context, "a disk of one's own takes root");
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

  test("and was never set up is told", async () => {
    const location = join(makeDirectory(), "store.db");
    new DatabaseSync(location).close();
    await expect(openStore({ location, host, clock: systemClock, access: "read" })).rejects.toMatchObject({
      code: "not_found",
    });
  });
});

test("a store of an older rollout keeps its results and scores", async () => {
  const location = join(makeDirectory(), "store.db");
  await takeOverFirstTables(location, (sql) => {
    using database = new DatabaseSync(location);
    database.exec(sql);
  });
});

test("a store of a newer rollout is refused and left as it is", async () => {
  const location = join(makeDirectory(), "store.db");
  await (await open(location))[Symbol.asyncDispose]();
  const database = new DatabaseSync(location);
  database.exec("UPDATE rollout_schema SET version = 99");
  database.close();
  await expect(open(location)).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("newer rollout"),
  });
});

test("a writer that another program keeps waiting does not hold the event loop", async () => {
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
