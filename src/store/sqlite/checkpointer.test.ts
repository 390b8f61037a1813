import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { openSqliteDatabase } from "./sqlite-database.ts";

test("copies a large log to the database while others write, and cuts it", async () => {
  await using file = await openFile();
  for (let n = 0; n < 40; n++) await file.write(1);
  expect(file.logBytes()).toBeGreaterThan(32 << 20);
  // No other connection cuts it.
  while (file.logBytes() > 32 << 20) {
    await setTimeout(20);
    await file.write(1);
  }
  expect(await file.count()).toBeGreaterThan(40);
  await file.close();
  expect(statSync(file.path).size).toBeGreaterThan(40 << 20);
  expect(statSync(`${file.path}-wal`, { throwIfNoEntry: false })).toBeUndefined();
}, 120_000);

test("cuts a log that one large commit made", async () => {
  await using file = await openFile();
  await file.write(160);
  expect(file.logBytes()).toBeGreaterThan(160 << 20);
  while (file.logBytes() > 32 << 20) {
    await setTimeout(20);
    await file.write(1);
  }
  expect(await file.count()).toBeGreaterThan(160);
}, 120_000);

async function openFile() {
  const directory = mkdtempSync(join(tmpdir(), "rollout-log-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "store.db");
  const database = await openSqliteDatabase({ path, location: path, clock: systemClock, access: "write" });
  await database.write((session) => session.run("CREATE TABLE texts (no INTEGER PRIMARY KEY, text TEXT)"));
  const text = "x".repeat(1 << 20);
  const close = () => database[Symbol.asyncDispose]();
  return {
    path,
    logBytes: (): number => statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0,
    /** Writes texts of 1 MiB in one commit. */
    write: (count: number) =>
      database.write(async (session) => {
        for (let n = 0; n < count; n++) await session.run("INSERT INTO texts (text) VALUES (?)", [text]);
      }),
    async count(): Promise<number> {
      const rows = await database.read((session) => session.rows<{ n: number }>("SELECT count(*) AS n FROM texts"));
      return rows[0]?.n ?? 0;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}
