import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

// They end parts of the cluster that others stand on.
const disturbing = ["tests/e2e/kubernetes-chaos.test.ts", "tests/providers/kubernetes-restarts.test.ts"];

export default defineConfig({
  test: {
    // Most tests of the house wait for processes and engines, so that even two cores have room for two files.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts", "scripts/**/*.test.ts"], testTimeout: 20_000 } },
      {
        test: {
          name: "house",
          include: ["tests/**/*.test.ts"],
          exclude: ["tests/long/**", ...disturbing],
          globalSetup: ["tests/e2e/shared-base.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "alone",
          include: disturbing,
          globalSetup: ["tests/e2e/shared-base.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: "long",
          include: ["tests/long/**/*.test.ts"],
          globalSetup: ["tests/e2e/shared-base.ts"],
          testTimeout: 3_600_000,
          hookTimeout: 600_000,
        },
      },
    ],
  },
});
