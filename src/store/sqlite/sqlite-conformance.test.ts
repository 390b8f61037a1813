import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { readHost } from "../../base/host.ts";
import { systemClock } from "../../base/clock.ts";
import { runSourceCasesFor } from "../conformance/run-source-cases.ts";
import { storeCases } from "../conformance/store-cases.ts";
import { storeAbilities, storeRunSubject } from "../conformance/store-run-subject.ts";
import { openSqliteStore } from "./open-sqlite-store.ts";

const dir = mkdtempSync(join(tmpdir(), "rollout-store-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

describe("the SQLite store keeps the contract", () => {
  for (const entry of storeCases) {
    test(entry.title, async () => {
      const clock = new FakeClock();
      const host = readHost(process);
      await using store = await openSqliteStore({ location: join(dir, "store.db"), host, clock, access: "write" });
      await entry.run({ store, host, elapse: async (ms) => clock.advance(ms) });
    });
  }
});

describe("the SQLite store can be read as a run source", () => {
  for (const entry of runSourceCasesFor(storeAbilities)) {
    test(entry.title, { timeout: entry.isSlow ? 120_000 : 20_000 }, async () => {
      const host = readHost(process);
      await using store = await openSqliteStore({
        location: join(dir, "source.db"),
        host,
        clock: systemClock,
        access: "write",
      });
      await using subject = storeRunSubject(store.runs, host);
      await entry.run(subject);
    });
  }
});
