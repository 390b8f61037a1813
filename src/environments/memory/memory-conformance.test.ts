import { describe, expect, test } from "vitest";
import { missingNeeds } from "../conformance/conformance-case.ts";
import { conformanceCases } from "../conformance/conformance-cases.ts";
import { runConformanceCase } from "../conformance/run-conformance-case.ts";
import { createMemoryProvider } from "./memory-provider.ts";

const open = async () => ({ provider: createMemoryProvider({ handler: () => 0 }), scratch: "/scratch" });
const { capabilities } = createMemoryProvider({ handler: () => 0 });
const applicable = conformanceCases.filter((entry) => missingNeeds(entry, capabilities).length === 0);

describe("the memory provider keeps the contract", () => {
  for (const entry of applicable) {
    test(entry.title, ({ signal }) => runConformanceCase(entry, { open, signal }));
  }
});

test("every case of the suite applies to the memory provider unless it needs a shell", () => {
  expect(applicable.length).toBeGreaterThanOrEqual(24);
  for (const entry of conformanceCases) {
    if (!applicable.includes(entry)) expect(missingNeeds(entry, capabilities)).toContain("shell");
  }
});

test("the suite has many cases, each with a title of its own", () => {
  expect(conformanceCases.length).toBeGreaterThanOrEqual(45);
  expect(new Set(conformanceCases.map((entry) => entry.title)).size).toBe(conformanceCases.length);
});
