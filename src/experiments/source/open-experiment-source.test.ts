import { appendFile, cp, mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock as clock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { toRaw } from "../../base/raw-json.ts";
import { openMemoryStore } from "../../store/memory/open-memory-store.ts";
import { readOwner } from "../../base/process-owner.ts";
import type { Run } from "../../store/run.ts";
import type { RunSource } from "../../store/run-source.ts";
import { openStoreRepository } from "../output/store/store-repository.ts";
import { failedTask } from "../testing/memory-executor.ts";
import { performSample } from "../testing/perform-sample.ts";
import {
  sampleAnswer,
  sampleEvaluation,
  sampleExamples,
  sampleExperiment,
  sampleRuns,
  saveEvaluations,
} from "../testing/sample-experiment.ts";
import { toPlainUnit } from "./read-units.ts";
import { openPlace, openSource, type SourcePlace } from "./testing/source-place.ts";

const host = readHost(process);
const all = { page: { after: null, limit: 100 } };

async function list(source: RunSource): Promise<readonly Run[]> {
  return (await source.list({}, { after: null, limit: 100 })).entries;
}

/** Begins an experiment with one answered and evaluated run, and leaves it as if its process had died. */
async function beginPart({ repository }: SourcePlace): Promise<string> {
  const [first] = await sampleRuns();
  if (first === undefined) throw new Error("no run");
  const experiment = sampleExperiment();
  await using output = await repository.begin(experiment, sampleExamples);
  await output.saveTask(sampleAnswer(first));
  const failed = sampleEvaluation("small", { score: null, error: "no" });
  await saveEvaluations(output, first, [sampleEvaluation("right", { score: 1, label: "ok" }), failed]);
  return experiment.id;
}

test("a finished experiment is listed as its last event described it", async () => {
  const place = await openPlace();
  const { outcome, events } = await performSample({ ...place, clock });
  const last = events.at(-1);
  const expected = last?.type === "run_finished" ? last.run : null;
  expect(await list(place.source)).toEqual([expected]);
  expect(await place.source.get(outcome.id)).toEqual(expected);
});

test("units are those of the events, and those that a store has", async () => {
  const place = await openPlace();
  const store = openMemoryStore({ host, clock });
  const repository = openStoreRepository({ store, owner: readOwner(host), clock });
  const read = async (source: RunSource, id: string) => {
    const { entries } = await source.units(id, all);
    const { entries: rows } = await source.rows(id, all);
    const timeless = { startedAt: 0, endedAt: 0, durationSec: 0 };
    return [entries, rows].map((list) => list.map((each) => ({ ...each, ...timeless })));
  };
  const request = {
    onTask: async ({ runId }: { runId: string }) =>
      runId === "e3#1" ? failedTask("line 7 is wrong") : { metadata: toRaw({ tokens: 5 }) },
    onEval: async ({ runId, evaluator }: { runId: string; evaluator: string }) =>
      runId === "e4#2" && evaluator === "right"
        ? { score: null, error: "no answer" }
        : { label: "ok", explanation: "é", metadata: toRaw({ k: [1] }) },
  };
  const here = await performSample({ ...place, ...request, clock });
  const there = await performSample({ repository, ...request, clock });
  expect(await read(place.source, here.outcome.id)).toEqual(await read(store.runs, there.outcome.id));
  const { entries } = await place.source.units(here.outcome.id, all);
  expect(entries).toHaveLength(20);
  for (const event of here.events)
    if (event.type === "unit_finished") {
      const { endedAt: _endedAt, durationSec: _durationSec, startedAt: _startedAt, ...unit } = toPlainUnit(event.unit);
      expect(entries[unit.index]).toMatchObject(unit);
    }
});

test("an experiment that has not ended has the counts of its results", async () => {
  const place = await openPlace();
  const id = await beginPart(place);
  const counts = { finished: 1, completed: 1, failed: 0, cancelled: 0, untrusted: 0 };
  const run = await place.source.get(id);
  expect(run).toMatchObject({ status: "interrupted", owner: null, isResumable: true, counts, plan: { total: 6 } });
  expect(run).toMatchObject({
    headline: { value: 1 },
    details: { failed_evaluations: 1, average_scores: { right: 1 } },
  });
  await using _output = await place.repository.resume(id);
  expect(await place.source.get(id)).toMatchObject({ status: "running", owner: { pid: host.pid }, counts });
  expect(await list(place.source)).toMatchObject([{ status: "running", owner: { pid: host.pid } }]);
});

test("roots are experiment directories or directories that hold some", async () => {
  const place = await openPlace();
  const [one, two] = [await beginPart(place), await beginPart(place)];
  await mkdir(join(place.directory, "empty"));
  await mkdir(join(place.directory, "broken"));
  await writeFile(join(place.directory, "broken", ".run.json"), '{"kind":"experiment","createdAt":"x"}');
  await writeFile(join(place.directory, "file"), "");
  expect(new Set((await list(place.source)).map(({ id }) => id))).toEqual(new Set([one, two]));
  const source = openSource([one, "missing", join(place.directory, one)], place.directory);
  expect(await list(source)).toMatchObject([{ id: one, location: one }]);
  expect(await source.get(one)).toMatchObject({ location: one });
  expect(await source.get(two)).toBeNull();
  expect(await openSource(["."], join(place.directory, one)).get(one)).toMatchObject({ location: "." });
  for (const id of ["broken", "empty", "file", "../x", `${one}/../${two}`, "", "."])
    expect(await place.source.get(id)).toBeNull();
});

test("an experiment that was moved or copied has the name of its directory", async () => {
  const place = await openPlace();
  const id = await beginPart(place);
  await rename(join(place.directory, id), join(place.directory, "moved"));
  expect(await place.source.get(id)).toBeNull();
  expect(await list(place.source)).toMatchObject([{ id: "moved", name: "x" }]);
  await cp(join(place.directory, "moved"), join(place.directory, "other", "moved"), { recursive: true });
  const source = openSource([place.directory, join(place.directory, "other")]);
  expect(await list(source)).toHaveLength(1);
  expect((await source.rows("moved", all)).entries).toHaveLength(1);
});

test("the last line of a result counts, and a half-written one is left out until it is complete", async () => {
  const place = await openPlace();
  const id = await beginPart(place);
  const path = (name: string): string => join(place.directory, id, name);
  const runLine = await readFile(path("runs.jsonl"), "utf8");
  const [evaluation = ""] = (await readFile(path("evaluations.jsonl"), "utf8")).split("\n");
  const scores = async () => (await place.source.rows(id, all)).entries.map((row) => row.scores);
  const before = [
    [
      { name: "right", value: 1 },
      { name: "small", value: null },
    ],
  ];
  expect(await scores()).toEqual(before);
  const better = evaluation.replace('"score":1', '"score":0.25');
  await appendFile(path("evaluations.jsonl"), better.slice(0, 40));
  expect(await scores()).toEqual(before);
  await appendFile(path("evaluations.jsonl"), `${better.slice(40)}\n`);
  expect((await scores())[0]?.[0]).toEqual({ name: "right", value: 0.25 });
  // A line that a killed process left is closed by the next one.
  await appendFile(
    path("runs.jsonl"),
    `${runLine.slice(0, 30)}\nnull\n{"run_id":"nobody#1"}\n{"run_id":"e 0 # é#9"}\n`,
  );
  const second = runLine.replaceAll("e 0 # é#1", "e 0 # é#2").replace('"repetition_number":1', '"repetition_number":2');
  await appendFile(path("runs.jsonl"), second);
  const { entries } = await place.source.units(id, all);
  expect(entries.map(({ key, index, labels }) => [key, index, labels["repetition"]])).toEqual([
    ["e 0 # é#1", 0, "1"],
    ["e 0 # é#2", 1, "2"],
  ]);
  expect(entries[0]?.scores[0]).toMatchObject({ name: "right", value: 0.25, label: "ok" });
  expect(entries[0]?.warnings).toEqual(['evaluator "small" failed: no']);
});

test("an evaluation that is read before its run counts once the run is read", async () => {
  const place = await openPlace();
  const id = await beginPart(place);
  const path = join(place.directory, id, "runs.jsonl");
  const line = await readFile(path, "utf8");
  await writeFile(path, "");
  expect((await place.source.rows(id, all)).entries).toEqual([]);
  await writeFile(path, line);
  expect((await place.source.rows(id, all)).entries[0]?.scores[0]).toEqual({ name: "right", value: 1 });
});

test("rows and units are right after a resumed session has replaced the files", async () => {
  const place = await openPlace();
  let failing = true;
  const onTask = async ({ runId }: { runId: string }) => (failing && runId === "e0#1" ? failedTask("wrong") : {});
  const { outcome } = await performSample({ ...place, onTask, clock });
  const { id } = outcome;
  const before = await place.source.rows(id, all);
  expect(before.entries.filter(({ status }) => status === "failed").map(({ key }) => key)).toEqual(["e0#1"]);
  failing = false;
  await performSample({ ...place, id, onTask, clock });
  const { entries } = await place.source.rows(id, all);
  expect(entries.map(({ index, status, scores }) => [index, status, scores.length])).toEqual(
    Array.from({ length: 20 }, (_, index) => [index, "completed", 2]),
  );
  expect((await place.source.unit(id, "e0#1"))?.output).toBe("e0#1");
  expect((await place.source.units(id, all)).entries).toHaveLength(20);
});
