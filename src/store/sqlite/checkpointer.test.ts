import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { readLogBytes, reachesInLog } from "./log-reach.ts";
import { openSqliteDatabase } from "./sqlite-database.ts";

test("a log that has grown is carried over while others write, and begins anew in the room it has", async () => {
  await using place = await openPlace();
  for (let n = 0; n < 40; n++) await place.write(1);
  expect(reachesInLog(place.log, 32 << 20)).toBe(true);
  // Nothing but a checkpoint of ours makes it begin anew.
  while (reachesInLog(place.log, 32 << 20)) {
    await setTimeout(20);
    await place.write(1);
  }
  expect(await place.count()).toBeGreaterThan(40);
  await place.close();
  expect(statSync(place.path).size).toBeGreaterThan(40 << 20);
  expect(statSync(place.log, { throwIfNoEntry: false })).toBeUndefined();
}, 120_000);

test("a log that has become very long is cut off", async () => {
  await using place = await openPlace();
  await place.write(160);
  expect(readLogBytes(place.log)).toBeGreaterThan(160 << 20);
  while (readLogBytes(place.log) > 32 << 20) {
    await setTimeout(20);
    await place.write(1);
  }
  expect(await place.count()).toBeGreaterThan(160);
}, 120_000);

async function openPlace() {
  const directory = mkdtempSync(join(tmpdir(), "rollout-log-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "store.db");
  const database = await openSqliteDatabase({ path, location: path, clock: systemClock, access: "write" });
  await database.write((session) => session.run("CREATE TABLE texts (no INTEGER PRIMARY KEY, text TEXT)"));
  const text = "x".repeat(1 << 20);
  const close = () => database[Symbol.asyncDispose]();
  return {
    path,
    log: `${path}-wal`,
    /** So many texts of a MiB in one commit. */
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
