import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { readHost } from "../../base/host.ts";
import { storeCases } from "../conformance/store-cases.ts";
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
