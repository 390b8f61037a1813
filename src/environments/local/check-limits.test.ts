import { expect, test } from "vitest";
import { checkLimits, enforcementOf } from "./check-limits.ts";

const machine = { cpus: 4, memoryBytes: 8e9 };
const limits = { cpus: 1, memoryBytes: 2e9, storageBytes: 10e9 };

test("memory in which nothing can start is a problem, with how much it takes", () => {
  expect(checkLimits({ ...limits, memoryBytes: 1e6 }, machine).problems).toEqual([
    "1M of memory is too little to start anything in; it takes at least 8Mi",
  ]);
  expect(checkLimits({ ...limits, memoryBytes: 8 * 2 ** 20 }, machine).problems).toEqual([]);
});

test("a limit above what the machine has is called none, and told", () => {
  expect(checkLimits({ ...limits, cpus: 64, memoryBytes: 1e12 }, machine)).toEqual({
    problems: [],
    warnings: [
      "a memory limit of 1T limits nothing: this machine has 8G, and that is what trials can use",
      "a limit of 64 CPUs limits nothing: this machine has 4, and that is what trials can use",
    ],
  });
  expect(checkLimits(limits, machine)).toEqual({ problems: [], warnings: [] });
  expect([enforcementOf(1e12, 8e9, "enforced"), enforcementOf(2e9, 8e9, "enforced")]).toEqual(["none", "enforced"]);
});
