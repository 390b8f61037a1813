import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock as clock } from "../../base/clock.ts";
import type { FollowedEvent, RunSource } from "../../store/run-source.ts";
import { failedTask } from "../testing/memory-executor.ts";
import { performSample } from "../testing/perform-sample.ts";
import { sampleAnswer, sampleExamples, sampleExperiment, sampleRuns } from "../testing/sample-experiment.ts";
import { openPlace, openSource } from "./testing/source-place.ts";

const all = { page: { after: null, limit: 100 } };

test("another experiment with the same name is read from the beginning, and earlier cursors are reset", async () => {
  const place = await openPlace();
  const experiment = sampleExperiment();
  const [first, second] = await sampleRuns();
  if (first === undefined || second === undefined) throw new Error("no run");
  const begin = async (createdAt: number, run: typeof first): Promise<void> => {
    await using output = await place.repository.begin({ ...experiment, createdAt }, sampleExamples);
    await output.saveTask(sampleAnswer(run));
  };
  await begin(1_000, first);
  const cursors = (await follow(place.source, experiment.id, null)).map(({ cursor }) => cursor);
  await rm(join(place.directory, experiment.id), { recursive: true });
  await begin(2_000, second);
  expect((await place.source.rows(experiment.id, all)).entries.map(({ index }) => index)).toEqual([1]);
  for (const cursor of cursors)
    expect((await follow(place.source, experiment.id, cursor)).map(({ event }) => event.type)).toEqual(["reset"]);
});

test("a cursor of one source is valid in another one, with evaluations and without", async () => {
  const place = await openPlace();
  const { outcome } = await performSample({
    ...place,
    clock,
    onTask: async ({ runId }) => (runId.startsWith("e3") ? failedTask("wrong") : {}),
  });
  const events = await follow(place.source, outcome.id, null);
  const titles = events.map(({ event }) => (event.type === "unit_finished" ? event.unit.key : event.type));
  expect(titles.slice(1, -1).toSorted()).toEqual([...new Set(titles.slice(1, -1))].toSorted());
  expect(titles).toHaveLength(22);
  for (const [at, { cursor }] of events.slice(0, -1).entries()) {
    const rest = await follow(openSource([place.directory]), outcome.id, cursor);
    expect(rest.map(({ event }) => (event.type === "unit_finished" ? event.unit.key : event.type))).toEqual(
      titles.slice(at + 1),
    );
  }
});

test("an experiment can be followed while it runs, up to its last results", async () => {
  const place = await openPlace();
  const started = Promise.withResolvers<string>();
  const performing = performSample({
    ...place,
    clock,
    onTask: async () => {
      await new Promise((resolve) => setTimeout(resolve, 60));
      return {};
    },
    onEvent: (event) => {
      if (event.type === "run_started") started.resolve(event.run.id);
    },
  });
  const id = await started.promise;
  const events = await follow(place.source, id, null);
  const { outcome } = await performing;
  expect(events[0]?.event.type).toBe("run_started");
  expect(events.at(-1)?.event).toMatchObject({ type: "run_finished", run: { status: "completed" } });
  const units = new Map(
    events.flatMap(({ event }) => (event.type === "unit_finished" ? [[event.unit.index, event.unit] as const] : [])),
  );
  const { entries } = await place.source.units(outcome.id, all);
  expect(entries).toHaveLength(20);
  for (const unit of entries) expect(units.get(unit.index)).toEqual(unit);
});

test("a follower is reset when the end of a resumed session replaces the files", async () => {
  const place = await openPlace();
  let isFailing = true;
  const onTask = async ({ runId }: { runId: string }) => (isFailing && runId === "e0#1" ? failedTask("wrong") : {});
  const { id } = (await performSample({ ...place, clock, onTask })).outcome;
  const cursors = (await follow(place.source, id, null)).map(({ cursor }) => cursor);
  isFailing = false;
  await performSample({ ...place, clock, id, onTask });
  const last = await follow(place.source, id, cursors.at(-2) ?? null);
  expect(last.map(({ event }) => event.type)).toEqual(["reset"]);
  expect(await follow(place.source, id, last[0]?.cursor ?? null)).toHaveLength(22);
});

async function follow(source: RunSource, id: string, cursor: string | null): Promise<FollowedEvent[]> {
  return await Array.fromAsync(source.follow(id, cursor, AbortSignal.timeout(20_000)));
}
