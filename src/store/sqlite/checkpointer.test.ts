import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { openSqliteDatabase } from "./sqlite-database.ts";

test("a log that has grown is carried over while others write, and begins anew", async () => {
  const directory = mkdtempSync(join(tmpdir(), "rollout-log-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  const path = join(directory, "store.db");
  const logBytes = (): number => statSync(`${path}-wal`).size;
  const text = "x".repeat(1 << 20);
  {
    await using database = await openSqliteDatabase({ path, location: path, clock: systemClock, access: "write" });
    await database.write((session) => session.run("CREATE TABLE texts (no INTEGER PRIMARY KEY, text TEXT)"));
    const write = (): Promise<number> =>
      database.write((session) => session.run("INSERT INTO texts (text) VALUES (?)", [text]));
    for (let n = 0; n < 40; n++) await write();
    // Nothing but a checkpoint of ours makes it shorter.
    for (let n = 40; logBytes() > 32 << 20; n++) {
      await setTimeout(20);
      if (n < 60) await write();
    }
    const [row] = await database.read((session) => session.rows<{ n: number }>("SELECT count(*) AS n FROM texts"));
    expect(row?.n).toBeGreaterThanOrEqual(40);
  }
  expect(statSync(path).size).toBeGreaterThan(40 << 20);
  expect(statSync(`${path}-wal`, { throwIfNoEntry: false })).toBeUndefined();
}, 120_000);
