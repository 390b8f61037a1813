import { expect, test } from "vitest";
import { planEnforcement, planProcessLimits } from "./limits.ts";

const limits = { cpus: 1, memoryBytes: 2 ** 30, storageBytes: 10 * 2 ** 30 };

test("control groups keep memory, processors and processes, a disk in memory keeps storage, the rest is a hint", () => {
  expect(planEnforcement(true, "disk")).toEqual({
    cpus: "enforced",
    memory: "enforced",
    storage: "advisory",
    pids: "enforced",
  });
  expect(planEnforcement(false, "memory")).toEqual({
    cpus: "advisory",
    memory: "advisory",
    storage: "enforced",
    pids: "advisory",
  });
});

test("with control groups only the size of a file is bounded by process", () => {
  expect(planProcessLimits(limits, true, 8)).toBe("ulimit -f 10485760 2>/dev/null; ");
});

test("without control groups each process is bounded by itself", () => {
  const text = planProcessLimits(limits, false, 8);
  expect(text).toContain("ulimit -d 1048576 ");
  expect(text).toMatch(/taskset -cp [0-7] \$\$/);
  expect(planProcessLimits({ ...limits, cpus: 8 }, false, 8)).not.toContain("taskset");
});
