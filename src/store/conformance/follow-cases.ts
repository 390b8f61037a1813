import assert from "node:assert/strict";
import type { FollowedEvent, RunSource } from "../run-source.ts";
import type { RunSourceCase } from "./run-source-case.ts";
import { sampleUnit } from "./sample-run.ts";
import { hasCode } from "./store-case.ts";

const timeoutMs = 20_000;

/** Describes an event in a few characters: `unit_finished 3`, `run_finished completed`. */
function describe({ event }: FollowedEvent): string {
  if (event.type === "unit_finished") return `${event.type} ${event.unit.index}`;
  if (event.type === "run_finished") return `${event.type} ${event.run.status}`;
  return event.type;
}

function follow(source: RunSource, runId: string, cursor: string | null): AsyncIterator<FollowedEvent> {
  return source.follow(runId, cursor, AbortSignal.timeout(timeoutMs))[Symbol.asyncIterator]();
}

async function readRest(events: AsyncIterator<FollowedEvent>): Promise<FollowedEvent[]> {
  const rest: FollowedEvent[] = [];
  for (;;) {
    const next = await events.next();
    if (next.done) return rest;
    rest.push(next.value);
  }
}

async function readNext(events: AsyncIterator<FollowedEvent>): Promise<FollowedEvent> {
  const next = await events.next();
  assert.ok(!next.done, "the events ended early");
  return next.value;
}

async function followAll(source: RunSource, runId: string, cursor: string | null): Promise<readonly string[]> {
  return (await readRest(follow(source, runId, cursor))).map(describe);
}

/** Following a run. */
export const followCases: readonly RunSourceCase[] = [
  {
    title: "follow yields what an ended run did, from the start",
    needs: [],
    async run({ source, openRun, expected = (unit) => unit }) {
      const run = await openRun({ units: [sampleUnit(2), sampleUnit(0)] });
      await run.finish();
      const events = await readRest(follow(source, run.id, null));
      assert.deepEqual(events.map(describe), [
        "run_started",
        "unit_finished 2",
        "unit_finished 0",
        "run_finished completed",
      ]);
      const [, first] = events;
      assert.deepEqual(first?.event.type === "unit_finished" && first.event.unit, expected(sampleUnit(2)));
      assert.ok(events.every(({ event }) => Number.isFinite(event.at)));
    },
  },
  {
    title: "follow yields units while a run is written, and ends with it",
    needs: [],
    async run({ source, openRun }) {
      const run = await openRun({ units: [sampleUnit(0)] });
      const events = follow(source, run.id, null);
      assert.equal(describe(await readNext(events)), "run_started");
      assert.equal(describe(await readNext(events)), "unit_finished 0");
      const next = readNext(events);
      await run.write([sampleUnit(1)]);
      assert.equal(describe(await next), "unit_finished 1");
      const rest = readRest(events);
      await run.write([sampleUnit(2), sampleUnit(3)]);
      await run.finish("cancelled");
      assert.deepEqual((await rest).map(describe), ["unit_finished 2", "unit_finished 3", "run_finished cancelled"]);
    },
  },
  {
    title: "follow yields a unit again when it is written again",
    needs: ["rewrites"],
    async run({ source, openRun, expected = (unit) => unit }) {
      const run = await openRun({ units: [sampleUnit(0), sampleUnit(1)] });
      await run.write([sampleUnit(0, { tries: 2 })]);
      const events = follow(source, run.id, null);
      for (const title of ["run_started", "unit_finished 1", "unit_finished 0"])
        assert.equal(describe(await readNext(events)), title);
      const again = sampleUnit(1, { tries: 2, output: "again" });
      await run.write([again]);
      const { event } = await readNext(events);
      assert.deepEqual(event.type === "unit_finished" && event.unit, expected(again));
      await run.finish();
      assert.deepEqual((await readRest(events)).map(describe), ["run_finished completed"]);
    },
  },
  {
    title: "follow continues after any cursor without a gap or a double",
    needs: [],
    async run({ source, openRun }) {
      const run = await openRun({ units: [0, 1, 2, 3].map((n) => sampleUnit(n)) });
      await run.finish();
      const all = await readRest(follow(source, run.id, null));
      const titles = all.map(describe);
      for (const [at, { cursor }] of all.slice(0, -1).entries())
        assert.deepEqual(await followAll(source, run.id, cursor), titles.slice(at + 1));
      // The run may have been resumed since.
      assert.deepEqual(await followAll(source, run.id, all.at(-1)?.cursor ?? null), titles.slice(-1));
    },
  },
  {
    title: "follow yields many units in order",
    needs: [],
    async run({ source, openRun }) {
      const units = Array.from({ length: 1_234 }, (_, n) => sampleUnit(n));
      const run = await openRun({ units });
      await run.finish();
      const titles = await followAll(source, run.id, null);
      assert.deepEqual(
        titles.slice(1, -1),
        units.map(({ index }) => `unit_finished ${index}`),
      );
    },
  },
  {
    title: "a cursor that is not valid yields a reset, and following from its cursor starts at the beginning",
    needs: [],
    async run({ source, openRun }) {
      const [run, other] = [await openRun({ units: [sampleUnit(0)] }), await openRun()];
      await run.finish();
      const [, last] = await readRest(follow(source, run.id, null));
      for (const [id, cursor] of [
        [run.id, "not a cursor"],
        [other.id, last?.cursor ?? ""],
      ] as const) {
        const events = await readRest(follow(source, id, cursor));
        assert.deepEqual(events.map(describe), ["reset"]);
        assert.equal(describe(await readNext(follow(source, id, events[0]?.cursor ?? null))), "run_started");
      }
    },
  },
  {
    title: "follow ends with a run whose process dies, and reports it as interrupted",
    needs: [],
    async run({ source, openRun }) {
      const run = await openRun({ units: [sampleUnit(0)] });
      const rest = readRest(follow(source, run.id, null));
      await run.kill();
      assert.deepEqual((await rest).map(describe), ["run_started", "unit_finished 0", "run_finished interrupted"]);
    },
  },
  {
    title: "follow ends on abort, and rejects for an unknown run",
    needs: [],
    async run({ source, openRun }) {
      const run = await openRun({ units: [sampleUnit(0)] });
      const controller = new AbortController();
      const events = source.follow(run.id, null, controller.signal)[Symbol.asyncIterator]();
      assert.equal(describe(await readNext(events)), "run_started");
      assert.equal(describe(await readNext(events)), "unit_finished 0");
      const rest = readRest(events);
      controller.abort();
      assert.deepEqual(await rest, []);
      await assert.rejects(readNext(follow(source, "unknown", null)), hasCode("not_found"));
    },
  },
];
