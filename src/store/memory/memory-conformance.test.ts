import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { readHost } from "../../base/host.ts";
import { systemClock } from "../../base/clock.ts";
import { runSourceCasesFor } from "../conformance/run-source-cases.ts";
import { storeCases } from "../conformance/store-cases.ts";
import { storeAbilities, storeRunSubject } from "../conformance/store-run-subject.ts";
import { openMemoryStore } from "./open-memory-store.ts";

describe("the memory store keeps the contract", () => {
  for (const entry of storeCases) {
    test(entry.title, async () => {
      const clock = new FakeClock();
      const host = readHost(process);
      await using store = openMemoryStore({ host, clock });
      await entry.run({ store, host, elapse: async (ms) => clock.advance(ms) });
    });
  }
});

describe("the memory store can be read as a run source", () => {
  for (const entry of runSourceCasesFor(storeAbilities)) {
    test(entry.title, { timeout: entry.isSlow ? 120_000 : 20_000 }, async () => {
      const host = readHost(process);
      await using store = openMemoryStore({ host, clock: systemClock });
      await using subject = storeRunSubject(store.runs, host);
      await entry.run(subject);
    });
  }
});

test("the suites have many cases, each with a title of its own", () => {
  expect(storeCases.length).toBeGreaterThanOrEqual(38);
  const sourceCases = runSourceCasesFor(storeAbilities);
  expect(sourceCases.length).toBeGreaterThanOrEqual(30);
  expect(runSourceCasesFor([]).length).toBeLessThan(sourceCases.length);
  for (const cases of [storeCases, sourceCases])
    expect(new Set(cases.map(({ title }) => title)).size).toBe(cases.length);
});
