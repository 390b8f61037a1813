import { afterAll, beforeAll, describe, expect, test, type TestContext } from "vitest";
import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { readOwner } from "../../src/base/process-owner.ts";
import { sampleRun, sampleUnit } from "../../src/store/conformance/sample-run.ts";
import { runSourceCasesFor } from "../../src/store/conformance/run-source-cases.ts";
import { storeCases } from "../../src/store/conformance/store-cases.ts";
import { storeAbilities, storeRunSubject } from "../../src/store/conformance/store-run-subject.ts";
import { openStore } from "../../src/store/registry.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { openPrivatePostgres, whyNoPostgres } from "../engines/private-postgres.ts";
import { openTestPostgres, whyNoTestPostgres, type TestPostgres } from "./open-test-postgres.ts";
import { killMaker, killWriter, open, writeTogether } from "./process-scenarios.ts";

const host = readHost(process);
const reason = whyNoTestPostgres();
let database: TestPostgres | undefined;
beforeAll(async () => {
  if (reason === null) database = await openTestPostgres();
});
afterAll(() => database?.[Symbol.asyncDispose]());

function need(context: TestContext): TestPostgres {
  return database ?? cannotRun(context, reason ?? "");
}

describe("the PostgreSQL store keeps the contract", () => {
  for (const entry of storeCases) {
    test(entry.title, async (context) => {
      const { url, query } = need(context);
      await using store = await open(url);
      const elapse = async (ms: number): Promise<void> => {
        await query(`UPDATE rollout_runs SET lease_renewed_at = lease_renewed_at - ${ms}`);
      };
      await entry.run({ store, host, elapse });
    });
  }
});

describe("the PostgreSQL store can be read as a run source", () => {
  for (const entry of runSourceCasesFor(storeAbilities)) {
    test(entry.title, async (context) => {
      await using store = await open(need(context).url);
      await using subject = storeRunSubject(store.runs, host);
      await entry.run(subject);
    });
  }
});

test("two processes write to one database at the same time and lose nothing", async (context) => {
  await using fresh = await openTestPostgres().catch(() => cannotRun(context, reason ?? "no server"));
  await writeTogether(fresh.url);
});

test("keeps every acknowledged write of a killed process, and its run can be resumed", async (context) => {
  const { url, query } = need(context);
  for (const killAfter of [2, 9, 31]) await killWriter(url, killAfter);
  expect(await query("SELECT count(*)::int AS n FROM rollout_staged")).toEqual([{ n: 0 }]);
});

test("a process that is killed while it creates a dataset leaves none", async (context) => {
  await using fresh = await openTestPostgres().catch(() => cannotRun(context, reason ?? "no server"));
  await killMaker(fresh.url);
  expect(await fresh.query("SELECT count(*)::int AS n FROM rollout_datasets")).toEqual([{ n: 1 }]);
});

test("locations and errors contain no password", async (context) => {
  const { url } = need(context);
  const secret = new URL(url);
  secret.password = "hunter2hunter2";
  await using store = await open(secret.href);
  expect(store.location).not.toContain("hunter2");
  const wrong = new URL(secret);
  wrong.pathname = "/no_such_database";
  await expect(open(wrong.href)).rejects.toSatisfy((error: Error & { code: string; hint: string }) => {
    expect(error).toMatchObject({ code: "provider_unavailable", hint: expect.stringContaining("createdb") });
    return !`${error.message}${error.hint}`.includes("hunter2");
  });
});

test("a server that does not run is reported as a transient error", async () => {
  await expect(open("postgres://nobody@127.0.0.1:1/none")).rejects.toMatchObject({
    code: "provider_unavailable",
    transient: true,
    hint: expect.stringContaining("runs"),
  });
  await expect(open("postgres://[")).rejects.toMatchObject({ code: "usage_invalid" });
});

test("a store with another schema version is refused for writing and read as far as it fits", async (context) => {
  const { url, query } = need(context);
  await (await open(url))[Symbol.asyncDispose]();
  await query("UPDATE rollout_schema SET version = version + 90");
  try {
    await using reader = await openStore({ location: url, host, clock: systemClock, access: "read" });
    expect((await reader.runs.list({}, { after: null, limit: 1 })).entries.length).toBeLessThan(2);
    await expect(openStore({ location: url, host, clock: systemClock, access: "write" })).rejects.toMatchObject({
      code: "unsupported",
      message: expect.stringContaining("schema version 91"),
    });
  } finally {
    await query("UPDATE rollout_schema SET version = version - 90");
  }
});

test("a database without tables is refused by a reader", async (context) => {
  need(context);
  await using fresh = await openTestPostgres();
  const reading = openStore({ location: fresh.url, host, clock: systemClock, access: "read" });
  await expect(reading).rejects.toMatchObject({ code: "not_found" });
});

test("a lost connection is reported as a transient error, and the store opens a new one", async (context) => {
  const why = whyNoPostgres();
  if (why !== null) cannotRun(context, why);
  await using server = await openPrivatePostgres();
  await using store = await open(server.url);
  const run = sampleRun();
  const lease = await store.runs.create(run, readOwner(host));
  await lease.write([sampleUnit(0)]);
  await server.restart();
  const tries: unknown[] = [];
  for (let left = 20; left > 0; left--) {
    const failure: unknown = await lease.write([sampleUnit(1)]).then(
      () => null,
      (error: unknown) => error,
    );
    if (failure === null) break;
    tries.push(failure);
  }
  for (const failure of tries) expect(failure).toMatchObject({ transient: true });
  expect((await store.runs.rows(run.id, { page: { after: null, limit: 5 } })).entries).toHaveLength(2);
});
