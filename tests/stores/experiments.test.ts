import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, onTestFinished, test } from "vitest";
import { systemClock as clock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { readOwner } from "../../src/base/process-owner.ts";
import { openStoreRepository } from "../../src/experiments/output/store/store-repository.ts";
import { repositoryCases } from "../../src/experiments/testing/repository-cases.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { openTestPostgres, whyNoTestPostgres, type TestPostgres } from "./open-test-postgres.ts";
import { open } from "./process-scenarios.ts";

const owner = readOwner(readHost(process));
const reason = whyNoTestPostgres();
let database: TestPostgres | undefined;
beforeAll(async () => {
  if (reason === null) database = await openTestPostgres();
});
afterAll(() => database?.[Symbol.asyncDispose]());

describe("experiments in SQLite", () => {
  for (const entry of repositoryCases)
    test(entry.title, async () => {
      const directory = await mkdtemp(join(tmpdir(), "rollout-repository-"));
      onTestFinished(() => rm(directory, { recursive: true, force: true }));
      await using store = await open(join(directory, "store.db"));
      await entry.run(openStoreRepository({ store, owner, clock }));
    });
});

describe("experiments in PostgreSQL", () => {
  for (const entry of repositoryCases)
    test(entry.title, async (context) => {
      await using store = await open((database ?? cannotRun(context, reason ?? "")).url);
      await entry.run(openStoreRepository({ store, owner, clock }));
    });
});
