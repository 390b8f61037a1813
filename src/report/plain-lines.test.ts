import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import type { RunEvent } from "../store/run.ts";
import { createPlainLines } from "./plain-lines.ts";
import { sampleFailure, sampleRun, sampleUnit, type SampleRun, type SampleUnit } from "./testing/sample-run.ts";

type Told<Event> = Event extends RunEvent ? Omit<Event, "at"> : never;

function startLines(head: SampleRun = {}) {
  const clock = new FakeClock();
  const lines: string[] = [];
  const display = createPlainLines({ write: (text) => lines.push(...text.split("\n").slice(0, -1)), clock });
  const tell = (event: Told<RunEvent>): void => display.onEvent({ ...event, at: clock.now() });
  const finish = (sample: SampleUnit = {}): void => tell({ type: "unit_finished", unit: sampleUnit(sample) });
  tell({ type: "run_started", run: sampleRun({ total: 90, ...head }) });
  lines.length = 0;
  return { clock, lines, display, tell, finish };
}

describe("plain lines", () => {
  test("begin with what is going to happen", () => {
    const lines: string[] = [];
    const { onEvent, close } = createPlainLines({ write: (text) => lines.push(text), clock: new FakeClock() });
    onEvent({ type: "run_started", at: 0, run: sampleRun({ total: 90 }) });
    close();
    expect(lines).toEqual(["tb2-sweep: 90 trials, 4 at a time, results in jobs/tb2-sweep\n"]);
  });

  test("tell when a unit passes, does not pass, fails, ends unmarked or is tried again", () => {
    const { lines, tell, finish } = startLines();
    const failure = sampleFailure({ type: "environment_start_failed", message: "502 from\nthe engine" });
    tell({ type: "unit_started", key: "k", labels: sampleUnit().labels });
    tell({ type: "unit_retry", key: "k", tries: 1, waitMs: 2500, failure });
    finish();
    finish({ task: "go", reward: 0.25, durationSec: 125 });
    finish({ task: "sudoku", failure });
    finish({ task: "maze", reward: null });
    expect(lines).toEqual([
      "[0/90] retry cpe terminal-bench/chess #1 try 2 in 2.5s - environment_start_failed: 502 from the engine",
      "[1/90] pass cpe terminal-bench/chess #1 1.0 34s",
      "[2/90] not passed cpe terminal-bench/go #1 0.25 2m05s",
      "[3/90] failed cpe terminal-bench/sudoku #1 34s - environment_start_failed: 502 from the engine",
      "[4/90] done cpe terminal-bench/maze #1 34s",
    ]);
  });

  test.each([
    [0, "now"],
    [1, "in 1ms"],
    [200, "in 0.2s"],
    [3000, "in 3s"],
    [125_000, "in 2m05s"],
  ])("say that a wait of %d ms is over %s", (waitMs, when) => {
    const { lines, tell } = startLines();
    const failure = sampleFailure({ type: "environment_start_failed", message: "busy" });
    tell({ type: "unit_retry", key: "k", tries: 1, waitMs, failure });
    expect(lines).toEqual([`[0/90] retry k try 2 ${when} - environment_start_failed: busy`]);
  });

  test("say which failures are the infrastructure's", () => {
    const { lines, finish } = startLines();
    finish({ failure: { type: "verifier_failed", message: "lost", cause: "infrastructure" } });
    finish({ task: "go", failure: { type: "verifier_failed", message: "exit 2", cause: "task" } });
    expect(lines).toEqual([
      "[1/90] failed cpe terminal-bench/chess #1 34s - verifier_failed (infrastructure): lost",
      "[2/90] failed cpe terminal-bench/go #1 34s - verifier_failed: exit 2",
    ]);
  });

  test("do not speak of finished units when only retries were counted", async () => {
    const { clock, lines, tell } = startLines();
    const failure = sampleFailure({ type: "environment_start_failed", message: "busy" });
    for (let index = 0; index < 12; index++) {
      tell({ type: "unit_retry", key: `k${index}`, tries: 1, waitMs: 1000, failure });
    }
    await clock.advance(1000);
    expect(lines.slice(10)).toEqual(["[0/90] 2 retries"]);
  });

  test("tell a warning once", () => {
    const { lines, tell, finish } = startLines();
    tell({ type: "warning", message: "no \x1b[31mquota" });
    finish({ warnings: ["tools missing"] });
    finish({ task: "b", warnings: ["tools missing"] });
    expect(lines.filter((line) => line.startsWith("warning"))).toEqual(["warning no quota", "warning tools missing"]);
  });

  test("say how far the run is when it was quiet for ten seconds and something has changed", async () => {
    const { clock, lines, tell, finish } = startLines();
    finish({ spendUsd: 0.5 });
    finish({ task: "b", reward: 0 });
    tell({ type: "unit_started", key: "k", labels: {} });
    lines.length = 0;
    await clock.advance(10_000);
    expect(lines).toEqual(["[2/90] pass 50% (1 of 2), 1 running, mean 0.50, $0.50, 10s, ETA ..."]);
    await clock.advance(40_000);
    expect(lines).toHaveLength(1);
    await clock.advance(20_000);
    expect(lines).toHaveLength(2);
  });

  test("add what is being built to the next status line only", async () => {
    const { clock, lines, tell } = startLines();
    tell({ type: "run_activity", line: "pulling alpine" });
    await clock.advance(10_000);
    expect(lines).toEqual(["[0/90] 0 running, 10s, ETA ..., pulling alpine"]);
    tell({ type: "unit_started", key: "k", labels: {} });
    await clock.advance(20_000);
    expect(lines.at(-1)).toMatch(/ETA \.\.\.$/);
  });

  test("leave out what a unit waited for once it goes on", async () => {
    const { clock, lines, tell } = startLines();
    tell({ type: "unit_started", key: "k", labels: {} });
    tell({ type: "run_activity", line: "k waits for a node", key: "k" });
    await clock.advance(10_000);
    expect(lines.at(-1)).toMatch(/, k waits for a node$/);
    tell({ type: "unit_started", key: "l", labels: {} });
    tell({ type: "run_activity", line: "k starts", key: "k" });
    tell({ type: "unit_phase", key: "l", phase: "agent_setup" });
    tell({ type: "unit_phase", key: "k", phase: "agent_setup" });
    await clock.advance(10_000);
    expect(lines.at(-1)).toMatch(/ETA \.\.\.$/);
  });

  test("say at most one status line in ten seconds", async () => {
    const { clock, lines, tell } = startLines();
    for (let second = 0; second < 60; second++) {
      tell({ type: "unit_started", key: `k${second}`, labels: {} });
      tell({ type: "unit_activity", key: `k${second}`, line: "x" });
      await clock.advance(1000);
    }
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.length).toBeLessThanOrEqual(6);
  });

  test("count units together when more than ten finish within a second", async () => {
    const { clock, lines, finish } = startLines();
    for (let index = 0; index < 30; index++) {
      const failure = index % 10 === 9 ? { type: "internal_error", message: "x" } : null;
      finish({ task: `t${index}`, failure, ...(failure ? {} : { reward: index % 2 }) });
    }
    expect(lines).toHaveLength(10);
    await clock.advance(1000);
    expect(lines.slice(10)).toEqual(["[30/90] 20 more finished: 8 passed, 10 not passed, 2 failed (internal_error 2)"]);
  });

  test("stay short when masses of units keep coming, and go back to single lines afterwards", async () => {
    const { clock, lines, finish } = startLines({ total: 100_000 });
    for (let step = 0; step < 300; step++) {
      for (let index = 0; index < 100; index++) finish({ task: `t${index}` });
      await clock.advance(100);
    }
    const busy = lines.length;
    expect(busy).toBeLessThan(20);
    await clock.advance(30_000);
    finish({ task: "calm" });
    expect(lines.at(-1)).toBe("[30001/100000] pass cpe terminal-bench/calm #1 1.0 34s");
    const counted = lines.map((line) => /\] ([\d,]+) more finished/.exec(line)?.[1] ?? "0");
    expect(counted.reduce((total, text) => total + Number(text.replaceAll(",", "")), 0)).toBe(30_000 - 10);
  });

  test("tell a stop that lets trials finish from one that ends them", () => {
    const { lines, tell } = startLines();
    tell({ type: "run_stopping", reason: "the budget is spent", running: 2, isTerminating: false });
    tell({ type: "run_stopping", reason: "the budget is spent", running: 1, isTerminating: false });
    tell({ type: "run_stopping", reason: "interrupted", running: 1, isTerminating: true });
    tell({ type: "run_stopping", reason: "interrupted", running: 0, isTerminating: true });
    expect(lines).toEqual([
      "[0/90] stopping: the budget is spent, letting 2 trials finish",
      "[0/90] stopping: the budget is spent, letting 1 trial finish",
      "[0/90] stopping: interrupted, cleaning up 1 trial",
      "[0/90] stopping: interrupted",
    ]);
  });

  test("say why a run stops, and leave no timer once it has finished", async () => {
    const { clock, lines, tell, finish } = startLines();
    for (let index = 0; index < 12; index++) finish({ task: `t${index}` });
    tell({ type: "run_stopping", reason: "interrupted", running: 3, isTerminating: true });
    tell({ type: "run_finished", run: sampleRun({ status: "cancelled" }), next: [] });
    expect(lines.slice(10)).toEqual([
      "[12/90] stopping: interrupted, cleaning up 3 trials",
      "[12/90] 2 more finished: 2 passed",
    ]);
    expect(clock.pendingTimers).toBe(0);
    tell({ type: "warning", message: "late" });
    await clock.advance(60_000);
    expect(lines).toHaveLength(12);
  });
});
