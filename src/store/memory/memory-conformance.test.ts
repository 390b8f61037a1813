import { describe, expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { readHost } from "../../base/host.ts";
import { storeCases } from "../conformance/store-cases.ts";
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

test("the suite has many cases, each with a title of its own", () => {
  expect(storeCases.length).toBeGreaterThanOrEqual(38);
  expect(new Set(storeCases.map(({ title }) => title)).size).toBe(storeCases.length);
});
