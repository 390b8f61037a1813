import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts", "scripts/**/*.test.ts"], testTimeout: 20_000 } },
      {
        test: {
          name: "house",
          include: ["tests/**/*.test.ts"],
          exclude: ["tests/long/**"],
          globalSetup: ["tests/e2e/shared-base.ts"],
          testTimeout: 120_000,
          hookTimeout: 120_000,
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
