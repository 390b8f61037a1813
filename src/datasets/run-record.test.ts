import { describe, expect, test } from "vitest";
import { readHost } from "../base/host.ts";
import { readOwner } from "../base/process-owner.ts";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { createFailure } from "../store/failure.ts";
import { openMemoryStore } from "../store/memory/open-memory-store.ts";
import type { Run, RunEvent, Unit } from "../store/run.ts";
import type { Store } from "../store/store.ts";
import type { RunConfig } from "./run-config.ts";
import type { RunContext } from "./run-context.ts";
import { runDataset } from "./run-dataset.ts";
import { withUsage } from "./targets/target.ts";
import { never, numbers } from "./testing/test-ground.ts";

const host = readHost(process);
const start = Date.parse("2025-01-15T10:30:00Z");

function prepare(changes: Partial<RunContext> = {}) {
  const clock = new FakeClock();
  const context: RunContext = {
    clock,
    owner: readOwner(host),
    origin: { description: null, tags: {}, git: null, rolloutVersion: "1.2.3" },
    random: () => 0,
    ...changes,
  };
  const storage = openMemoryStore({ host, clock });
  const events: RunEvent[] = [];
  const run = (config: Partial<RunConfig>, other: Partial<RunContext> = {}) =>
    runDataset(
      {
        storage,
        runId: "r",
        data: numbers(4),
        target: echo,
        scorers: [right],
        onEvent: (event) => void events.push(event),
        ...config,
      },
      { ...context, ...other },
    );
  return { clock, storage, events, run };
}

async function echo(input: unknown): Promise<unknown> {
  return input;
}

function right({ output, groundTruth }: { output: unknown; groundTruth?: unknown }): number {
  return output === groundTruth ? 1 : 0;
}

async function runOf(storage: Store): Promise<Run | null> {
  return await storage.runs.get("r");
}

async function unitsOf(storage: Store): Promise<readonly Unit[]> {
  return (await storage.runs.units("r", { page: { after: null, limit: 100 } })).entries;
}

describe("the record of a dataset run", () => {
  test("is stored at the start and at the end, and is in the events", async () => {
    const { clock, storage, events, run } = prepare({
      origin: {
        description: "what it is",
        tags: { team: "x", model: "small" },
        git: { revision: "abc", isDirty: true },
        rolloutVersion: "1.2.3",
      },
    });
    const atStart: (Run | null)[] = [];
    await run({
      name: "numbers",
      tags: { model: "large" },
      metadata: { ticket: 7 },
      maxConcurrency: 1,
      target: async function echo(input: unknown) {
        if (input === 0) atStart.push(await runOf(storage));
        await clock.advance(2500);
        return input === 3 ? "wrong" : input;
      },
    });
    const session = { startedAt: start, endedAt: null, durationSec: 0 };
    expect(atStart).toMatchObject([
      {
        id: "r",
        kind: "dataset",
        name: "numbers",
        status: "running",
        isResumable: true,
        createdAt: start,
        endedAt: null,
        sessions: [session],
        owner: { pid: process.pid, hostname: host.hostname },
        counts: { finished: 0, completed: 0, failed: 0, cancelled: 0, untrusted: 0 },
        headline: { score: "right", value: null, interval: null, passed: 0, counted: 0, excluded: {} },
        spendUsd: 0,
        unknownSpends: 0,
      },
    ]);
    const stored = await runOf(storage);
    expect(stored).toEqual(events.flatMap((event) => (event.type === "run_finished" ? [event.run] : []))[0]);
    expect(events[0]).toEqual({ type: "run_started", at: start, run: atStart[0] });
    expect(stored).toMatchObject({
      status: "completed",
      isResumable: false,
      createdAt: start,
      endedAt: start + 10_000,
      sessions: [{ startedAt: start, endedAt: start + 10_000, durationSec: 10 }],
      owner: null,
      counts: { finished: 4, completed: 4, failed: 0, cancelled: 0, untrusted: 0 },
      headline: { score: "right", measure: "pass_rate", value: 0.75, passed: 3, counted: 4, excluded: {} },
      description: "what it is",
      tags: { team: "x", model: "large" },
      git: { revision: "abc", isDirty: true },
      rolloutVersion: "1.2.3",
      targets: ["echo"],
      datasets: [{ name: "data", id: null, version: null }],
      location: "memory:",
      details: { metadata: { ticket: 7 }, scorers: [{ scorer_id: "right", mean: 0.75, scored: 4 }] },
    });
  });

  test("counts failures, and what is known of costs", async () => {
    const { storage, run } = prepare();
    await run({
      target: function echo(input: unknown) {
        if (input === 1) throw new Error("no");
        return input === 2 ? input : withUsage(input, { costUsd: 0.25, inputTokens: 10 });
      },
      scorers: [],
    });
    expect(await runOf(storage)).toMatchObject({
      status: "completed",
      counts: { finished: 4, completed: 3, failed: 1, cancelled: 0 },
      headline: null,
      spendUsd: 0.5,
      unknownSpends: 2,
      shape: { scoreName: "", showsCost: false },
    });
    expect((await unitsOf(storage)).map(({ spendUsd, usage }) => [spendUsd, usage?.inputTokens])).toEqual([
      [0.25, 10],
      [null, undefined],
      [null, undefined],
      [0.25, 10],
    ]);
  });

  test("a failure that the target caused counts as not passed, and has a fingerprint", async () => {
    const { storage, events, run } = prepare();
    await run({
      target: function echo(input: unknown) {
        if (Number(input) % 2 === 1) throw new Error(`HTTP 503 for "item ${String(input)}"`);
        return input;
      },
    });
    expect(await runOf(storage)).toMatchObject({
      headline: { measure: "pass_rate", value: 0.5, passed: 2, counted: 4, excluded: {} },
      counts: { completed: 2, failed: 2 },
    });
    const units = await unitsOf(storage);
    const failures = units.flatMap(({ failure }) => (failure === null ? [] : [failure]));
    expect(failures).toEqual(
      [1, 3].map((input) =>
        createFailure({ type: "target_failed", message: `HTTP 503 for "item ${input}"`, phase: null, cause: "agent" }),
      ),
    );
    expect(new Set(failures.map(({ fingerprint }) => fingerprint))).toEqual(new Set(["target_failed||HTTP <n> for …"]));
    const reported = events.flatMap((event) => (event.type === "unit_finished" ? [event.unit] : []));
    expect(reported.toSorted((a, b) => a.index - b.index)).toEqual(units);
  });

  test("a graded score has its mean as headline", async () => {
    const { storage, run } = prepare();
    const grade = function grade({ output }: { output: unknown }): number {
      return Number(output) / 4;
    };
    await run({ scorers: [grade, right], passAt: 0.5 });
    expect(await runOf(storage)).toMatchObject({
      headline: { score: "grade", measure: "mean", value: 0.375, passed: 2, counted: 4 },
      shape: { scoreName: "grade", otherScores: ["right"], passAt: 0.5 },
    });
  });

  test("the headline counts the score it is named after, not the scores of single items", async () => {
    const clock = new FakeClock();
    const storage = openMemoryStore({ host, clock });
    const dataset = await storage.datasets.create({
      name: "numbers",
      description: null,
      metadata: {},
      inputSchema: null,
      expectedOutputSchema: null,
      scorerIds: ["right"],
    });
    await using write = await storage.datasets.openWrite({ datasetId: dataset.id, mode: "merge", note: null });
    const [first, ...others] = numbers(3);
    await write.put([{ ...first, input: 0, scorerIds: ["other"] }, ...others]);
    await write.commit();
    const { run } = prepare();
    await run({
      storage,
      data: undefined,
      datasetId: dataset.id,
      scorers: undefined,
      registry: { scorers: { right, other: () => 0 } },
    });
    expect(await runOf(storage)).toMatchObject({
      headline: { score: "right", value: 1, passed: 2, counted: 2 },
      counts: { finished: 3 },
    });
  });

  test("repeats of an item are one item for the interval", async () => {
    const { storage, run } = prepare();
    await run({ repeats: 3 });
    expect(await runOf(storage)).toMatchObject({
      plan: { total: 12 },
      counts: { finished: 12 },
      headline: { value: 1, passed: 12, counted: 12 },
      shape: { unitNoun: "run", itemCount: 4 },
    });
    expect((await runOf(storage))?.headline?.interval?.low).toBeCloseTo(0.51, 2);
    expect((await unitsOf(storage)).map(({ key }) => key).slice(0, 4)).toEqual(["n0#1", "n0#2", "n0#3", "n1#1"]);
  });

  test("progress is stored while the run works, without changing what comes out", async () => {
    const { clock, storage, run } = prepare();
    const seen: (Run | null)[] = [];
    const summary = await run({
      repeats: 2,
      maxConcurrency: 1,
      target: async function echo(input: unknown) {
        await clock.advance(10_000);
        seen.push(await runOf(storage));
        return input;
      },
    });
    expect(seen.map((at) => at?.counts.finished)).toEqual([0, 1, 1, 3, 3, 5, 5, 7]);
    expect(seen[7]).toMatchObject({ status: "running", sessions: [{ endedAt: null, durationSec: 80 }] });
    expect(summary.scorers).toMatchObject([{ scored: 8, mean: 1 }]);
    // Four items, not eight: repeats that came before and after a renewal belong together.
    expect(summary.scorers[0]?.interval?.low).toBeCloseTo(0.51, 2);
  });

  test("an aborted run is cancelled; its resumption adds a session and keeps what it was created with", async () => {
    const git = { revision: "abc", isDirty: false };
    const { clock, storage, events, run } = prepare({
      origin: { description: "first", tags: { team: "x" }, git, rolloutVersion: "1.2.3" },
    });
    const stop = new AbortController();
    await run({
      name: "numbers",
      metadata: { ticket: 7 },
      maxConcurrency: 1,
      signal: stop.signal,
      target: async function echo(input: unknown) {
        await clock.advance(1000);
        if (input !== 2) return input;
        stop.abort(new Error("enough"));
        return never;
      },
    });
    const first = await runOf(storage);
    expect(first).toMatchObject({
      status: "cancelled",
      isResumable: true,
      error: "the run was aborted: enough",
      counts: { finished: 3, completed: 2, failed: 0, cancelled: 1 },
      headline: { value: 1, passed: 2, counted: 2, excluded: { cancelled: 1 } },
      sessions: [{ startedAt: start, endedAt: start + 3000, durationSec: 3 }],
    });
    expect((await unitsOf(storage)).at(-1)).toMatchObject({ status: "cancelled", failure: { cause: "cancelled" } });

    await clock.advance(60_000);
    events.length = 0;
    const atStart: (Run | null)[] = [];
    await run(
      {
        tags: { model: "large" },
        target: async function echo(input: unknown) {
          atStart.push(await runOf(storage));
          await clock.advance(500);
          return input;
        },
        maxConcurrency: 1,
      },
      { origin: { description: null, tags: {}, git: { revision: "def", isDirty: true }, rolloutVersion: "1.2.4" } },
    );
    expect(atStart[0]).toMatchObject({
      status: "running",
      endedAt: null,
      sessions: [{ durationSec: 3 }, { startedAt: start + 63_000, endedAt: null }],
    });
    const second = await runOf(storage);
    expect(second).toMatchObject({
      name: "numbers",
      status: "completed",
      isResumable: false,
      error: null,
      createdAt: start,
      endedAt: start + 64_000,
      sessions: [
        { startedAt: start, endedAt: start + 3000, durationSec: 3 },
        { startedAt: start + 63_000, endedAt: start + 64_000, durationSec: 1 },
      ],
      counts: { finished: 4, completed: 4, failed: 0, cancelled: 0 },
      headline: { value: 1, passed: 4, counted: 4, excluded: {} },
      description: "first",
      tags: { team: "x", model: "large" },
      git,
      details: { metadata: { ticket: 7 } },
    });
    const restored = events.flatMap((event) => (event.type === "unit_restored" ? [event.unit] : []));
    expect(restored.map(({ key }) => key)).toEqual(["n0", "n1"]);
    expect(restored).toEqual((await unitsOf(storage)).slice(0, 2));
    expect(second?.spendUsd).toBe(0);
    expect(second?.unknownSpends).toBe(4);
  });
});
