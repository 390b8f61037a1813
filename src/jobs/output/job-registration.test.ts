import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { readOwner } from "../../base/process-owner.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { sampleRun, sampleUnit } from "../../store/conformance/sample-run.ts";
import { createFailure } from "../../store/failure.ts";
import { MemoryRunStore } from "../../store/memory/memory-run-store.ts";
import type { Unit } from "../../store/run.ts";
import type { RunLease, RunStore } from "../../store/run-store.ts";
import { hang } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig, startJob, type RigOptions } from "../testing/job-rig.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { forever, until } from "../testing/until.ts";
import { JobRegistration, type JobRegistrationOptions } from "./job-registration.ts";

const host = readHost(process);
const everyUnit = { page: { after: null, limit: 1000 } };

async function unitsOf(store: RunStore, runId = "run-1"): Promise<readonly Unit[]> {
  return (await store.units(runId, everyUnit)).entries;
}

function warningsOf(events: readonly { readonly type: string }[]): string[] {
  return events.flatMap((event) => (event.type === "warning" && "message" in event ? [String(event.message)] : []));
}

describe("a job with a store", () => {
  test("registers itself and its trials, with what its directory contains", async () => {
    const store = new MemoryRunStore(host, systemClock);
    const job = await runJobOnRig({
      tasks: { one: {}, two: {} },
      registry: store,
      origin: { description: "what it is", tags: { team: "x" }, git: { revision: "abc", isDirty: false } },
      script: { execute: ({ key }) => (key.includes("two") ? 3 : 0) },
    });
    const end = job.events.at(-1);
    const run = await store.get("run-1");
    // Read from another directory, a relative location would be wrong.
    expect(run?.location).toMatch(/^\/.*\/jobs\/job$/);
    expect({ ...run, location: "jobs/job" }).toEqual(end?.type === "run_finished" ? end.run : null);
    expect(run).toMatchObject({
      kind: "job",
      status: "completed",
      isResumable: false,
      counts: { finished: 2, completed: 1, failed: 1 },
      description: "what it is",
      tags: { team: "x" },
      git: { revision: "abc", isDirty: false },
      owner: null,
    });
    const finished = job.events.flatMap((event) => (event.type === "unit_finished" ? [event.unit] : []));
    const units = await unitsOf(store);
    expect(units).toEqual(finished.toSorted((a, b) => a.index - b.index));
    expect(units.map(({ key, status }) => [key, status])).toEqual([
      ["a/set/one__1", "completed"],
      ["a/set/two__1", "failed"],
    ]);
    expect(units[0]?.artifacts.map(({ name }) => name)).toContain("command/stdout.txt");
    expect(warningsOf(job.events)).toEqual([]);
  });

  test("the fingerprint of a failure is the same in the store, in the events and made from the directory", async () => {
    const store = new MemoryRunStore(host, systemClock);
    const env = { API_KEY: "sk-1234567890-abcdef" };
    const job = await runJobOnRig({
      env,
      config: { agents: [{ name: "a", execute: "e", env: { KEY: "${API_KEY}" } }] },
      registry: store,
      faults: ({ operation }) => {
        if (operation === "exec") throw new RolloutError("exec_failed", `HTTP 500 for ${env.API_KEY} at 10:30`);
      },
    });
    const { error } = job.trial(onlyTrial);
    const [unit] = await unitsOf(store);
    const event = job.events.find(({ type }) => type === "unit_finished");
    expect(error).toMatchObject({ phase: "agent_execution", cause: "infrastructure" });
    expect(unit?.failure).toEqual(error && createFailure(error));
    expect(event?.type === "unit_finished" ? event.unit.failure : null).toEqual(unit?.failure);
    expect(unit?.failure?.fingerprint).toBe(
      "agent_execution_failed|agent_execution|HTTP <n> for [redacted:API_KEY] at <n>",
    );
  });

  test("stores progress while it runs", async () => {
    const clock = new FakeClock();
    const store = new MemoryRunStore(host, clock);
    const job = startJob({
      clock,
      registry: store,
      tasks: { one: {}, two: {} },
      script: { execute: (call) => (call.key.includes("two") ? hang(call) : 0) },
    });
    await until(() => job.events.some(({ type }) => type === "unit_finished"));
    await clock.advance(20_000);
    expect(await store.get("run-1")).toMatchObject({
      status: "running",
      owner: { pid: process.pid },
      counts: { finished: 1 },
      sessions: [{ endedAt: null, durationSec: 20 }],
    });
    expect(await unitsOf(store)).toHaveLength(1);
    job.cancel();
    await job.finished;
    expect(await store.get("run-1")).toMatchObject({ status: "cancelled", isResumable: true, owner: null });
    expect(clock.pendingTimers).toBe(0);
  });

  async function cancelled(options: RigOptions): Promise<string> {
    const root = makeRoot();
    const job = startJob({
      root,
      tasks: { one: {}, three: {}, two: {} },
      ...options,
      config: { n_concurrent_trials: 1 },
      script: { execute: (call) => (call.key.includes("three") ? hang(call) : 0) },
    });
    await until(() =>
      job.events.some(
        (event) => event.type === "unit_phase" && event.key.includes("three") && event.phase === "agent_execution",
      ),
    );
    job.cancel();
    await job.finished;
    return root;
  }

  test("continues its entry when it is resumed, and keeps the files of stored trials", async () => {
    const store = new MemoryRunStore(host, systemClock);
    const root = await cancelled({ registry: store });
    const [first] = await unitsOf(store);
    expect(await store.get("run-1")).toMatchObject({ status: "cancelled", sessions: [{}] });
    const job = await runJobOnRig({ root, resume: {}, registry: store, tasks: { one: {}, three: {}, two: {} } });
    const run = await store.get("run-1");
    expect(run).toMatchObject({ status: "completed", isResumable: false, sessions: [{}, {}], counts: { finished: 3 } });
    const units = await unitsOf(store);
    expect(units.map(({ key, status }) => [key, status])).toEqual([
      ["a/set/one__1", "completed"],
      ["a/set/three__1", "completed"],
      ["a/set/two__1", "completed"],
    ]);
    expect(units[0]).toEqual(first);
    expect(units[0]?.artifacts.length).toBeGreaterThan(0);
    expect(warningsOf(job.events)).toEqual([]);
  });

  test("registers trials of earlier sessions that the store does not have", async () => {
    const store = new MemoryRunStore(host, systemClock);
    const root = await cancelled({});
    await runJobOnRig({ root, resume: {}, registry: store, tasks: { one: {}, three: {}, two: {} } });
    const units = await unitsOf(store);
    expect(units.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
    expect(units[0]?.artifacts.map(({ name }) => name)).toContain("result.json");
    expect(await store.get("run-1")).toMatchObject({ sessions: [{}, {}], counts: { finished: 3 } });
  });

  test("removes stored trials that are no longer planned", async () => {
    const store = new MemoryRunStore(host, systemClock);
    const root = makeRoot();
    await runJobOnRig({ root, registry: store, tasks: { one: {}, two: {} } });
    rmSync(join(root, "set/one"), { recursive: true });
    await runJobOnRig({ root, resume: { acceptChanges: true }, registry: store, tasks: { two: {} } });
    expect((await unitsOf(store)).map(({ index, key }) => [index, key])).toEqual([[0, "a/set/two__1"]]);
    expect(await store.get("run-1")).toMatchObject({ plan: { total: 1 }, counts: { finished: 1 } });
  });
});

type StoreCall = "create" | "resume" | "rows" | "renew" | "write" | "remove" | "end";

/** Returns a store in which one kind of call does what `fault` does. */
function faultyStore(inner: RunStore, call: StoreCall, fault: () => Promise<never>): RunStore {
  const faultyLease = (lease: RunLease): RunLease => ({
    run: lease.run,
    renew: (run) => (call === "renew" ? fault() : lease.renew(run)),
    write: (units) => (call === "write" ? fault() : lease.write(units)),
    remove: (indexes) => (call === "remove" ? fault() : lease.remove(indexes)),
    end: (run) => (call === "end" ? fault() : lease.end(run)),
  });
  return {
    create: async (run, owner) => (call === "create" ? fault() : faultyLease(await inner.create(run, owner))),
    resume: async (id, owner, options) =>
      call === "resume" ? fault() : faultyLease(await inner.resume(id, owner, options)),
    rows: (id, query) => (call === "rows" ? fault() : inner.rows(id, query)),
    remove: (id) => inner.remove(id),
    list: (filter, page) => inner.list(filter, page),
    get: (id) => inner.get(id),
    units: (id, query) => inner.units(id, query),
    unit: (id, key) => inner.unit(id, key),
    artifacts: (id, key) => inner.artifacts(id, key),
    artifact: (id, key, name, range) => inner.artifact(id, key, name, range),
    follow: (id, cursor, signal) => inner.follow(id, cursor, signal),
  };
}

const broken = (): Promise<never> => Promise.reject(new RolloutError("io_failed", "the disk is full"));
const brokenMessage = "the job could not be recorded in the store: the disk is full; its directory is complete";

describe("a store that fails", () => {
  test.each(["create", "write", "end"] as const)("at %s does not fail a job, and is one warning", async (call) => {
    const job = await runJobOnRig({
      tasks: { one: {}, two: {}, three: {} },
      config: { n_concurrent_trials: 1 },
      registry: faultyStore(new MemoryRunStore(host, systemClock), call, broken),
    });
    expect(job.run).toMatchObject({ unwritten: null, resume: null, result: { completed_trials: 3 } });
    expect(warningsOf(job.events)).toEqual([brokenMessage]);
    expect(job.events.at(-1)).toMatchObject({ type: "run_finished", run: { status: "completed" } });
    // The end is stored when result.json is complete.
    if (call !== "end") expect(job.result.warnings).toEqual([brokenMessage]);
  });

  test.each(["resume", "renew", "rows", "remove"] as const)(
    "at %s does not fail a job that is resumed, and is one warning",
    async (call) => {
      const store = new MemoryRunStore(host, systemClock);
      const root = makeRoot();
      await runJobOnRig({ root, registry: store, tasks: { one: {}, two: {} } });
      rmSync(join(root, "set/one"), { recursive: true });
      const registry = faultyStore(store, call, broken);
      const job = await runJobOnRig({
        root,
        resume: { acceptChanges: true },
        registry,
        tasks: { two: {}, three: {} },
      });
      expect(job.run).toMatchObject({ unwritten: null, result: { completed_trials: 2 } });
      expect(warningsOf(job.events).filter((message) => message.includes("store"))).toEqual([brokenMessage]);
    },
  );

  test("because another job has its lease does not fail a job", async () => {
    const store = new MemoryRunStore(host, systemClock);
    await store.create(sampleRun({ id: "run-1" }), readOwner(host));
    const job = await runJobOnRig({ registry: store });
    expect(job.result.completed_trials).toBe(1);
    expect(warningsOf(job.events)).toMatchObject([expect.stringContaining("run-1 is in use by process")]);
  });

  test.each(["create", "write", "end"] as const)("to answer at %s does not hold a job up for ever", async (call) => {
    const clock = new FakeClock();
    let isAsked = false;
    const registry = faultyStore(new MemoryRunStore(host, clock), call, () => {
      isAsked = true;
      return forever;
    });
    const job = startJob({ clock, tasks: { one: {}, two: {}, three: {} }, registry });
    await until(() => isAsked && job.events.filter(({ type }) => type === "unit_finished").length === 3);
    for (let step = 0; step < 20 && job.events.at(-1)?.type !== "run_finished"; step++) await clock.advance(10_000);
    const { result } = await job.finished;
    expect(result.completed_trials).toBe(3);
    expect(warningsOf(job.events)).toMatchObject([expect.stringMatching(/exceeded its limit of (?:30|60) seconds/)]);
    expect(clock.pendingTimers).toBe(0);
  });
});

describe("a registration", () => {
  function register(changes: Partial<JobRegistrationOptions> = {}) {
    const clock = new FakeClock();
    const store = new MemoryRunStore(host, clock);
    const failures: string[] = [];
    const run = sampleRun({ id: "job-1", kind: "job" });
    const registration = new JobRegistration({
      store,
      owner: readOwner(host),
      clock,
      keys: [0, 1, 2].map((index) => sampleUnit(index).key),
      currentRun: () => run,
      listArtifacts: async () => [],
      onFailure: (message) => failures.push(message),
      ...changes,
    });
    return { clock, store, failures, run, registration };
  }

  test("whose lease is lost is reported once, and stores nothing more", async () => {
    // An owner that is not alive, so that another process can take the run over.
    const { clock, store, failures, run, registration } = register({ owner: { ...readOwner(host), startTicks: 1 } });
    registration.start();
    registration.add(sampleUnit(0));
    await clock.advance(0);
    const lease = await store.resume(run.id, readOwner(host));
    await clock.advance(20_000);
    registration.add(sampleUnit(1));
    await registration.end({ ...run, status: "completed" });
    await registration[Symbol.asyncDispose]();
    expect(failures).toEqual([expect.stringContaining("job-1 is no longer leased by this process")]);
    expect(await unitsOf(store, "job-1")).toHaveLength(1);
    expect(await store.get("job-1")).toMatchObject({ status: "running" });
    await lease.end(run);
    expect(clock.pendingTimers).toBe(0);
  });

  test("writes trials that come before it is registered", async () => {
    const { clock, store, failures, run, registration } = register();
    registration.start();
    for (const index of [2, 0, 1]) registration.add(sampleUnit(index));
    await registration.end({ ...run, status: "completed", isResumable: false });
    await registration[Symbol.asyncDispose]();
    expect((await unitsOf(store, "job-1")).map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(await store.get("job-1")).toMatchObject({ status: "completed", owner: null });
    expect([failures, clock.pendingTimers]).toEqual([[], 0]);
  });
});
