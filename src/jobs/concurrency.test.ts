import { describe, expect, test } from "vitest";
import { runJobOnRig, type RigOptions } from "./testing/job-rig.ts";

// Runs a job, and tells how many trials of a kind ever ran at once.
async function watchCrowd(options: RigOptions, kindOf: (key: string) => string) {
  const now = new Map<string, number>();
  const most: Record<string, number> = {};
  const count = (key: string, change: number): void => {
    for (const kind of [kindOf(key), "all"]) {
      const running = (now.get(kind) ?? 0) + change;
      now.set(kind, running);
      most[kind] = Math.max(most[kind] ?? 0, running);
    }
  };
  const job = await runJobOnRig({
    ...options,
    onEvent: (event) => {
      if (event.type === "unit_started") count(event.key, 1);
      if (event.type === "unit_finished") count(event.unit.key, -1);
    },
  });
  return { most, result: job.result, events: job.events };
}

const two = [
  { name: "a", execute: "e" },
  { name: "b", execute: "e" },
];

describe("how many trials run at once", () => {
  test("R36: never more than n_concurrent_trials, and as many as that", async () => {
    const { most } = await watchCrowd({ config: { n_attempts: 9, n_concurrent_trials: 3 } }, () => "x");
    expect(most["all"]).toBe(3);
  });

  test("R6: the default is four", async () => {
    expect((await watchCrowd({ config: { n_attempts: 9 } }, () => "x")).most["all"]).toBe(4);
  });

  test("R36: an agent's n_concurrent bounds that agent, and the others take the free places", async () => {
    const agents = [{ ...two[0], n_concurrent: 1 }, two[1]];
    const { most, result } = await watchCrowd(
      { config: { agents, n_attempts: 8, n_concurrent_trials: 4 } },
      (key) => key[0] ?? "",
    );
    expect(most).toMatchObject({ a: 1, all: 4 });
    expect(result.completed_trials).toBe(16);
  });

  test("R36: a dataset's n_concurrent bounds that dataset over all agents", async () => {
    const config = {
      agents: two,
      n_attempts: 4,
      n_concurrent_trials: 6,
      datasets: [{ path: "x", n_concurrent: 2 }, { path: "y" }],
    };
    const { most } = await watchCrowd(
      { config, datasets: { x: { t: {} }, y: { t: {} } } },
      (key) => key.split("/")[1] ?? "",
    );
    expect(most["x"]).toBe(2);
    expect(most["all"]).toBeGreaterThan(2);
  });

  test("R36: agents start round-robin", async () => {
    const agents = [...two, { name: "c", execute: "e" }];
    const { events } = await watchCrowd({ config: { agents, n_attempts: 3, n_concurrent_trials: 1 } }, () => "x");
    const started = events.flatMap((event) => (event.type === "unit_started" ? [event.labels["agent"]] : []));
    expect(started).toEqual(["a", "b", "c", "a", "b", "c", "a", "b", "c"]);
  });
});
