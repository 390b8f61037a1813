import { describe, expect, test } from "vitest";
import { durationSecOf } from "../store/run.ts";
import { failedTask } from "./testing/memory-executor.ts";
import { performSample, type SampleRequest } from "./testing/perform-sample.ts";
import { findSample, samplePlaces, type SamplePlace } from "./testing/sample-places.ts";

/** Performs a session that is cancelled when some of its tasks have been answered. */
async function performPart(place: SamplePlace, tasks: number, request: Partial<SampleRequest> = {}) {
  const controller = new AbortController();
  let count = 0;
  return await performSample({
    ...place,
    ...request,
    signal: controller.signal,
    async onTask(task) {
      await place.clock.advance(1000);
      if (++count > tasks) {
        controller.abort();
        throw controller.signal.reason;
      }
      return (await request.onTask?.(task)) ?? {};
    },
  });
}

async function storedScores({ repository }: SamplePlace, id: string): Promise<Record<string, number | null>[]> {
  const stored = await Array.fromAsync(repository.runs(id));
  return stored.map(({ evaluations }) =>
    Object.fromEntries([...evaluations.values()].map(({ evaluator, score }) => [evaluator, score])),
  );
}

describe.each(Object.entries(samplePlaces))("an experiment with several sessions in %s", (_name, open) => {
  test("has its counts, headline and durations over all sessions", async () => {
    const place = await open();
    const fails = new Set(["e1#1", "e2#1"]);
    const { outcome } = await performPart(place, 8, {
      onTask: async ({ runId }) => (fails.has(runId) ? failedTask("wrong") : {}),
    });
    const part = await findSample(place, outcome.id);
    expect(part).toMatchObject({ status: "cancelled", isResumable: true, counts: { completed: 6, failed: 2 } });
    expect(part.sessions).toHaveLength(1);
    await place.clock.advance(60_000);
    const again = await performSample({
      ...place,
      id: outcome.id,
      onTask: async () => (await place.clock.advance(1000), {}),
    });
    const run = await findSample(place, outcome.id);
    expect(run).toMatchObject({
      status: "completed",
      isResumable: false,
      counts: { finished: 20, completed: 20, failed: 0 },
      headline: { passed: 20, counted: 20, value: 1 },
      createdAt: part.createdAt,
    });
    expect(run.sessions).toHaveLength(2);
    expect(run.sessions[0]).toEqual(part.sessions[0]);
    expect(durationSecOf(run)).toBeLessThan(60);
    expect(again.outcome.durationSec).toBe(durationSecOf(run));
    const types = again.events.map(({ type }) => type);
    expect(types.filter((type) => type === "unit_restored")).toHaveLength(6);
    expect(types.filter((type) => type === "unit_finished")).toHaveLength(14);
  });

  test.each([false, true])(
    "counts every stored run when a resumed session is cancelled (phased: %s)",
    async (isPhased) => {
      const place = await open();
      const onTask = async ({ runId }: { runId: string }) => (runId === "e3#1" ? failedTask("wrong") : {});
      const { outcome } = await performPart(place, 12, { onTask });
      const before = await findSample(place, outcome.id);
      expect(before.counts).toMatchObject({ completed: 11, failed: 1 });
      for (const tasks of [0, 2]) {
        const again = await performPart(place, tasks, { id: outcome.id, isPhased });
        const { counts, headline, details } = await findSample(place, outcome.id);
        const { succeeded, failed } = await place.repository.count(outcome.id);
        expect([counts.completed, counts.failed]).toEqual([succeeded, failed]);
        expect(succeeded).toBe(tasks === 0 ? 11 : 13);
        expect(headline?.passed).toBe(
          (await storedScores(place, outcome.id)).filter(({ right }) => right === 1).length,
        );
        expect(details["average_scores"]).toEqual({ right: 1, small: 1 });
        expect(again.outcome).toMatchObject({
          status: "cancelled",
          succeeded,
          failed,
          skipped: 20 - succeeded - failed,
        });
      }
    },
  );

  test("counts answered tasks when a phased session is cancelled or fails before the evaluations", async () => {
    const place = await open();
    const cancelled = await performPart(place, 7, { isPhased: true });
    expect(await findSample(place, cancelled.outcome.id)).toMatchObject({
      status: "cancelled",
      counts: { finished: 7 },
    });
    let tasks = 0;
    const { outcome } = await performSample({
      ...place,
      isPhased: true,
      onTask: () => (++tasks > 7 ? Promise.reject(new Error("it broke")) : Promise.resolve({})),
    });
    expect(outcome).toMatchObject({ status: "failed", error: "it broke" });
    const run = await findSample(place, outcome.id);
    expect(run).toMatchObject({ status: "failed", error: "it broke", isResumable: true });
    expect(run.counts.finished).toBe((await place.repository.count(outcome.id)).succeeded);
    const resumed = await performSample({ ...place, id: outcome.id, isPhased: true });
    expect(resumed.outcome.run).toMatchObject({ status: "completed", error: null, counts: { completed: 20 } });
    expect(await storedScores(place, outcome.id)).toEqual(Array.from({ length: 20 }, () => ({ right: 1, small: 1 })));
  });

  test("reports the tasks that fail in a phased session as finished", async () => {
    const place = await open();
    const { outcome, events } = await performSample({
      ...place,
      isPhased: true,
      onTask: async ({ runId }) => (runId === "e4#2" ? failedTask("wrong") : {}),
    });
    expect(outcome.firstFailure).toBe("e4#2: wrong");
    expect(events.filter(({ type }) => type === "unit_finished")).toHaveLength(20);
    expect(events.filter(({ type }) => type === "unit_restored")).toHaveLength(0);
  });

  test("makes failed evaluations again when it is resumed", async () => {
    const place = await open();
    const { outcome } = await performSample({
      ...place,
      onEval: async ({ runId, evaluator }) =>
        runId === "e5#1" && evaluator === "right" ? { score: null, error: "no answer" } : {},
    });
    const before = await findSample(place, outcome.id);
    expect(before).toMatchObject({ status: "completed", isResumable: true, details: { failed_evaluations: 1 } });
    expect(before.headline).toMatchObject({ counted: 19, excluded: { no_score: 1 } });
    const asked: string[] = [];
    const again = await performSample({
      ...place,
      id: outcome.id,
      onTask: () => Promise.reject(new Error("no task is due")),
      onEval: async ({ runId, evaluator }) => (asked.push(`${runId} ${evaluator}`), {}),
    });
    expect(asked).toEqual(["e5#1 right"]);
    expect(again.outcome.run).toMatchObject({ isResumable: false, headline: { counted: 20, excluded: {} } });
    expect((await storedScores(place, outcome.id))[10]).toEqual({ right: 1, small: 1 });
  });

  test("has new scores, and the sessions it had, after it was scored again", async () => {
    const place = await open();
    const { outcome } = await performSample({
      ...place,
      onTask: async ({ runId }) => (await place.clock.advance(1000), runId === "e4#2" ? failedTask("wrong") : {}),
    });
    const before = await findSample(place, outcome.id);
    await place.clock.advance(60_000);
    const discovered = { evaluators: ["right", "new"] };
    await performSample({
      ...place,
      discovered,
      id: outcome.id,
      isRescore: true,
      onEval: async ({ evaluator }) => ({ score: evaluator === "new" ? 0.5 : 0 }),
    });
    const run = await findSample(place, outcome.id);
    expect(run).toMatchObject({
      status: "completed",
      counts: before.counts,
      headline: { score: "right", passed: 0, counted: 20 },
      shape: { scoreName: "right", otherScores: ["small", "new"] },
      sessions: before.sessions,
      endedAt: before.endedAt,
      details: {
        average_scores: { right: 0, small: 1, new: 0.5 },
        scorings: [{ file: "y.py", evaluators: ["right", "new"] }],
      },
    });
    expect(run.notes[0]).toContain("scored again");
  });

  test("stays cancelled when outputs of a cancelled session are scored", async () => {
    const place = await open();
    const { outcome } = await performPart(place, 5);
    const before = await findSample(place, outcome.id);
    const scored = await performSample({ ...place, id: outcome.id, isRescore: true });
    expect(scored.outcome).toMatchObject({ status: "completed", skipped: 15 });
    const { status, isResumable, endedAt, counts } = await findSample(place, outcome.id);
    expect([status, isResumable, endedAt, counts]).toEqual(["cancelled", true, before.endedAt, before.counts]);
  });

  test("keeps the earlier scores that a cancelled scoring did not replace", async () => {
    const place = await open();
    const { outcome } = await performSample({ ...place });
    const before = await findSample(place, outcome.id);
    const controller = new AbortController();
    await performSample({
      ...place,
      id: outcome.id,
      isRescore: true,
      signal: controller.signal,
      async onEval({ evaluator }) {
        if (evaluator === "right") return { score: 0 };
        // The other evaluator of the same run has answered meanwhile.
        await new Promise((resolve) => setTimeout(resolve, 20));
        controller.abort();
        throw controller.signal.reason;
      },
    });
    const scores = await storedScores(place, outcome.id);
    expect(scores[0]).toEqual({ right: 0, small: 1 });
    expect(scores).toHaveLength(20);
    expect(scores.every(({ small }) => small === 1)).toBe(true);
    expect(await findSample(place, outcome.id)).toEqual(before);
  });
});
