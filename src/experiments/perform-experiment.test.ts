import { describe, expect, test } from "vitest";
import type { Run } from "../store/run.ts";
import { ExecutorLost } from "./executor/executor.ts";
import { failedTask, openMemoryExecutor } from "./testing/memory-executor.ts";
import { performSample } from "./testing/perform-sample.ts";
import { findSample, samplePlaces } from "./testing/sample-places.ts";

describe.each(Object.entries(samplePlaces))("an experiment in %s", (_name, open) => {
  test("is stored as a run while it runs and when it ends", async () => {
    const place = await open();
    const during: (Run | null)[] = [];
    let id = "";
    const { outcome, events } = await performSample({
      ...place,
      async onTask({ runId }) {
        await place.clock.advance(3000);
        if (runId === "e0#1" || runId === "e9#2") during.push(await place.repository.find(id));
        return runId === "e3#1" ? failedTask("wrong") : {};
      },
      onEvent(event) {
        if (event.type === "run_started") ({ id } = event.run);
      },
    });
    const [first, last] = during;
    expect(first).toMatchObject({
      status: "running",
      counts: { finished: 0 },
      owner: { pid: process.pid },
      endedAt: null,
    });
    expect(first?.sessions).toMatchObject([{ endedAt: null }]);
    expect(last?.counts.finished).toBeGreaterThan(5);
    const run = await findSample(place, outcome.id);
    expect(run).toMatchObject({
      status: "completed",
      isResumable: true,
      owner: null,
      counts: { finished: 20, completed: 19, failed: 1, cancelled: 0, untrusted: 0 },
      headline: { score: "right", passed: 19, counted: 20, excluded: {} },
      details: { average_scores: { right: 1, small: 1 }, failed_evaluations: 0 },
      warnings: [],
    });
    expect(outcome.run).toEqual(run);
    expect(events.at(-1)).toMatchObject({ type: "run_finished", run });
    expect(events.filter(({ type }) => type === "unit_finished")).toHaveLength(20);
    expect(place.clock.pendingTimers).toBe(0);
  });

  test("goes on when a listener throws, and warns of it once", async () => {
    const place = await open();
    const { outcome } = await performSample({
      ...place,
      onEvent: (event) => {
        if (event.type === "unit_finished" || event.type === "run_finished") throw new Error("the display broke");
      },
    });
    const warnings = ["the event listener failed on unit_finished: the display broke"];
    expect(outcome).toMatchObject({ status: "completed", succeeded: 20, warnings });
    expect((await findSample(place, outcome.id)).warnings).toEqual(warnings);
    const again = await performSample({ ...place, id: outcome.id });
    expect(again.outcome.run.warnings).toEqual(warnings);
  });

  test("waits for a slow listener, so that events do not pile up", async () => {
    const place = await open();
    let [pending, maxPending] = [0, 0];
    await performSample({
      ...place,
      async onTask() {
        maxPending = Math.max(maxPending, pending++);
        return {};
      },
      async onEvent(event) {
        await new Promise((resolve) => setTimeout(resolve, 2));
        if (event.type === "unit_finished") pending--;
      },
    });
    expect(maxPending).toBeLessThanOrEqual(4);
  });

  test("fails when its end cannot be stored, and can be resumed", async () => {
    const place = await open();
    const { outcome, events } = await performSample({
      ...place,
      wrap: (output) => ({
        run: output.run,
        findStored: output.findStored,
        saveTask: (answered) => output.saveTask(answered),
        saveEvaluation: (evaluated, evaluation) => output.saveEvaluation(evaluated, evaluation),
        update: (run) => output.update(run),
        end: () => Promise.reject(new Error("no space")),
        [Symbol.asyncDispose]: () => output[Symbol.asyncDispose](),
      }),
    });
    const error = "the end of the experiment could not be stored: no space";
    expect(outcome).toMatchObject({ status: "failed", error, cause: new Error("no space") });
    expect(events.at(-1)).toMatchObject({ type: "run_finished", run: { status: "failed", error } });
    expect(await findSample(place, outcome.id)).toMatchObject({
      status: "interrupted",
      isResumable: true,
      owner: null,
    });
    const again = await performSample({ ...place, id: outcome.id });
    expect(again.outcome.run).toMatchObject({ status: "completed", counts: { completed: 20 } });
    expect(again.events.filter(({ type }) => type === "unit_restored")).toHaveLength(20);
  });

  test("ends with the error of an executor that cannot be started again", async () => {
    const place = await open();
    let starts = 0;
    const lost = {
      ...openMemoryExecutor(),
      gone: Promise.resolve("it ended with exit code 1"),
      runTask: () => Promise.reject(new ExecutorLost("gone")),
    };
    const clock = Object.assign(place.clock, { sleep: () => Promise.resolve() });
    const { outcome } = await performSample({
      ...place,
      clock,
      startExecutor: () => (starts++ === 0 ? Promise.resolve(lost) : Promise.reject(new Error("no such program"))),
    });
    expect(outcome).toMatchObject({ status: "failed", skipped: 20, error: "no such program" });
    expect(await findSample(place, outcome.id)).toMatchObject({ status: "failed", error: "no such program" });
  });
});
