import { chmodSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** A directory in which all test files of a run find the base of the local environment. */
    sharedBaseDir: string;
  }
}

let directory: string | undefined;

/** Gives the tests of a run one place for what takes seconds to make. */
export function setup(project: TestProject): void {
  directory = mkdtempSync(join(tmpdir(), "rollout-shared-base-"));
  // The ids of an environment pass through it.
  chmodSync(directory, 0o711);
  project.provide("sharedBaseDir", directory);
}

/** Removes it, while whoever runs the tests can still see to its processes. */
export async function teardown(): Promise<void> {
  if (directory !== undefined) await rm(directory, { recursive: true, force: true });
}
