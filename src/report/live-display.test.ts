import { describe, expect, test } from "vitest";
import { FakeClock } from "../base/testing/fake-clock.ts";
import { displayWidth } from "../base/terminal-text.ts";
import type { RunEvent } from "../store/run.ts";
import { createLiveDisplay } from "./live-display.ts";
import { sampleFailure, sampleRun, sampleUnit, type SampleRun, type SampleUnit } from "./testing/sample-run.ts";
import { TerminalScreen } from "./testing/terminal-screen.ts";

type Told<Event> = Event extends RunEvent ? Omit<Event, "at"> : never;

interface Setting {
  readonly columns?: number;
  readonly rows?: number;
  readonly colour?: boolean;
  readonly head?: SampleRun;
}

function startDisplay({ columns = 80, rows = 14, colour = false, head = {} }: Setting = {}) {
  const clock = new FakeClock();
  const screen = new TerminalScreen(columns, rows);
  const display = createLiveDisplay({
    write: (text) => screen.write(text),
    columns: () => screen.columns,
    rows: () => screen.rows,
    clock,
    colour,
  });
  const tell = (event: Told<RunEvent>): void => display.onEvent({ ...event, at: clock.now() });
  const start = (sample: SampleUnit = {}, phase = "agent_execution"): void => {
    const { key, labels } = sampleUnit(sample);
    tell({ type: "unit_started", key, labels });
    tell({ type: "unit_phase", key, phase });
  };
  const finish = (sample: SampleUnit = {}): void => tell({ type: "unit_finished", unit: sampleUnit(sample) });
  tell({ type: "run_started", run: sampleRun(head) });
  return { clock, screen, display, tell, start, finish };
}

describe("the live display", () => {
  test("shows a realistic run as a person should see it", async () => {
    const { clock, screen, tell, start, finish, display } = startDisplay({ columns: 100, rows: 16 });
    tell({ type: "warning", message: "no storage quota on this driver: storage limits are not kept" });
    for (let task = 0; task < 20; task++) {
      start({ task: `task-${task}` });
      await clock.advance(9000);
      const failure = { type: "agent_execution_timeout", message: "agent execution took longer than 600 s" };
      finish({
        task: `task-${task}`,
        spendUsd: 0.041,
        ...(task === 9 ? { failure } : { reward: task % 3 === 0 ? 0 : 1 }),
      });
    }
    start({ task: "build-linux-kernel", agent: "claude-code" });
    await clock.advance(61_000);
    start({ task: "hello-world" }, "verifier");
    start({ task: "日本語の課題", agent: "claude-code" }, "environment_setup");
    start({ task: "fix-git" }, "environment_setup");
    const { key } = sampleUnit({ task: "build-linux-kernel", agent: "claude-code" });
    tell({ type: "unit_activity", key, line: "  CC      drivers/net/ethernet/intel/e1000/e1000_main.o" });
    const failure = sampleFailure({ type: "environment_start_failed", message: "502 from the engine" });
    tell({ type: "unit_retry", key: sampleUnit({ task: "fix-git" }).key, tries: 1, waitMs: 5000, failure });
    tell({ type: "run_activity", line: "building terminal-bench/fix-git: step 4 of 9" });
    await clock.advance(2300);
    await expect(`${screen.visible().join("\n")}\n`).toMatchFileSnapshot("fixtures/live-display.txt");
    display.close();
  });

  test("says nothing about the time that is left until three units are done", async () => {
    const { clock, screen, start, finish } = startDisplay({ head: { total: 10, concurrency: 1 } });
    finish({ task: "a", durationSec: 60 });
    finish({ task: "b", durationSec: 60 });
    start({ task: "c" });
    await clock.advance(100);
    expect(screen.visible()[0]).toMatch(/2\/10 · 0s · ETA …$/);
    finish({ task: "c", durationSec: 60 });
    await clock.advance(100);
    expect(screen.visible()[0]).toMatch(/3\/10 · 0s · ETA 7m$/);
  });

  test("repaints in place: the screen holds one block, however often it was painted", async () => {
    const { clock, screen, start } = startDisplay();
    start({ task: "one" });
    await clock.advance(30_000);
    expect(screen.writes).toBeGreaterThan(25);
    expect(screen.everything()).toHaveLength(3);
    expect(screen.everything()[2]).toBe("  cpe terminal-bench/one #1  agent execution    30s");
  });

  test("paints at most ten times a second, whatever happens", async () => {
    const { clock, screen, tell, start } = startDisplay();
    start();
    for (let step = 0; step < 1000; step++) {
      tell({ type: "unit_activity", key: sampleUnit().key, line: `line ${step}` });
      await clock.advance(1);
    }
    expect(screen.writes).toBeGreaterThanOrEqual(9);
    expect(screen.writes).toBeLessThanOrEqual(11);
    expect(clock.pendingTimers).toBe(1);
  });

  test("shows as many of 500 running units as fit, and counts the rest", async () => {
    const { clock, screen, start } = startDisplay({ rows: 10, head: { total: 1000, concurrency: 500 } });
    for (let task = 0; task < 500; task++) start({ task: `task-${task}` });
    await clock.advance(100);
    expect(screen.everything()).toHaveLength(8);
    expect(screen.visible().slice(2)).toEqual([
      "  cpe terminal-bench/task-0 #1    agent execution     0s",
      "  cpe terminal-bench/task-1 #1    agent execution     0s",
      "  cpe terminal-bench/task-2 #1    agent execution     0s",
      "  cpe terminal-bench/task-3 #1    agent execution     0s",
      "  cpe terminal-bench/task-4 #1    agent execution     0s",
      "  + 495 more",
    ]);
  });

  test.each([1, 2, 3, 4, 5, 6])("leaves the screen whole with %i rows", async (rows) => {
    const { clock, screen, tell, start } = startDisplay({ rows });
    for (let task = 0; task < 5; task++) start({ task: `task-${task}` });
    tell({ type: "run_activity", line: "building" });
    await clock.advance(3000);
    expect(screen.everything().length).toBeLessThanOrEqual(rows - 1);
  });

  test("failures and warnings stay above the block as they happen", async () => {
    const { clock, screen, tell, start, finish } = startDisplay();
    start({ task: "one" });
    await clock.advance(1000);
    tell({ type: "warning", message: "first" });
    await clock.advance(1000);
    finish({ task: "one", failure: { type: "verifier_failed", message: "exit code 2" } });
    finish({ task: "two", reward: 0 });
    start({ task: "three" });
    await clock.advance(1000);
    const lines = screen.everything();
    expect(lines.slice(0, 2)).toEqual([
      "warning first",
      "failed cpe terminal-bench/one #1 34s – verifier_failed: exit code 2",
    ]);
    expect(lines[2]).toMatch(/^tb2-sweep ━─+ 2\/54/);
    expect(lines).toHaveLength(5);
  });

  test("tells a warning that many units share once", async () => {
    const { clock, screen, finish } = startDisplay();
    for (let task = 0; task < 5; task++) finish({ task: `t${task}`, warnings: ["the verifier fetched nothing"] });
    await clock.advance(100);
    expect(screen.everything().filter((line) => line.startsWith("warning"))).toEqual([
      "warning cpe/terminal-bench/t0__1: the verifier fetched nothing",
    ]);
  });

  test("a thousand failures at once do not flood the terminal", async () => {
    const { clock, screen, finish } = startDisplay({ head: { total: 1000 } });
    for (let task = 0; task < 1000; task++)
      finish({ task: `t${task}`, failure: { type: "internal_error", message: "x" } });
    await clock.advance(100);
    expect(screen.everything()).toHaveLength(23);
    expect(screen.everything()[20]).toBe("+ 980 more lines");
  });

  test("long permanent lines wrap without harm to the block", async () => {
    const { clock, screen, tell } = startDisplay({ columns: 40 });
    await clock.advance(100);
    tell({ type: "warning", message: "long ".repeat(30).trim() });
    await clock.advance(2000);
    const lines = screen.everything();
    expect(lines.filter((line) => line.includes("ETA"))).toHaveLength(1);
    expect(lines.slice(0, -2).join("")).toBe(`warning ${"long ".repeat(30).trim()}`);
  });

  test("names and lines of other people cannot drive the terminal", async () => {
    const { clock, screen, tell, start, finish } = startDisplay({ head: { name: "\x1b[2Jrun\n\n" } });
    const hostile = { task: "\x1b[10A\x1b]0;title\x07evil\u202e\r\n" };
    start(hostile, "\x1b[31mphase");
    tell({ type: "unit_activity", key: sampleUnit(hostile).key, line: "10%\r20%\r\x1b[2K30%\x9b5A\x1bc" });
    tell({ type: "run_activity", line: "\x1b[3Jbuild\x07ing" });
    tell({ type: "warning", message: "\x1b[?1049hwarn" });
    await clock.advance(100);
    expect(screen.everything()).toEqual([
      "warning warn",
      expect.stringMatching(/^run {1,2}─+ 0\/54 · 0s · ETA …$/),
      "1 running",
      "building",
      expect.stringMatching(/^ {2}cpe terminal-bench\/evil {1,2}#1 +phase +0s {2}30%$/),
    ]);
    finish({ ...hostile, failure: { type: "x\x1b[2J", message: "\x1b[1Aboo" } });
    await clock.advance(100);
    expect(screen.everything()[1]).toMatch(/^failed cpe .*evil.* – x: boo$/);
  });

  test("wide names are cut by columns", async () => {
    const { clock, screen, start } = startDisplay({ columns: 50 });
    start({ task: "課題".repeat(40), agent: "👩‍👩‍👧エージェント" });
    await clock.advance(100);
    for (const line of screen.visible()) expect(displayWidth(line)).toBeLessThan(50);
  });

  test("survives a terminal that gets narrower, wider, lower and higher", async () => {
    const { clock, screen, display, tell, start } = startDisplay({ columns: 120, rows: 20 });
    tell({ type: "warning", message: "stays" });
    for (let task = 0; task < 6; task++) {
      start({ task: `a-task-with-a-long-name-${task}` });
      tell({
        type: "unit_activity",
        key: sampleUnit({ task: `a-task-with-a-long-name-${task}` }).key,
        line: "printing ".repeat(10),
      });
    }
    await clock.advance(1000);
    for (const [columns, rows] of [
      [60, 20],
      [30, 20],
      [100, 20],
      [100, 9],
      [80, 24],
    ] as const) {
      screen.resize(columns, rows);
      display.resize();
      await clock.advance(1000);
      const lines = screen.everything();
      expect(lines[0]).toBe("warning stays");
      expect(lines.filter((line) => line.includes("ETA"))).toHaveLength(1);
    }
    expect(screen.everything()).toHaveLength(9);
  });

  test("counts down to the next try", async () => {
    const { clock, screen, tell, start } = startDisplay();
    start({ task: "one" });
    const failure = sampleFailure({ type: "environment_start_failed", message: "502" });
    tell({ type: "unit_retry", key: sampleUnit({ task: "one" }).key, tries: 1, waitMs: 3000, failure });
    await clock.advance(100);
    expect(screen.visible()[1]).toBe("0 running · 1 retrying");
    expect(screen.visible()[2]).toContain("try 2 in 3s");
    await clock.advance(2000);
    expect(screen.visible()[2]).toContain("try 2 in 1s");
    tell({ type: "unit_phase", key: sampleUnit({ task: "one" }).key, phase: "environment_setup" });
    await clock.advance(100);
    expect(screen.visible()[2]).toContain("environment setup");
  });

  test("says what is being cleaned up while a run stops", async () => {
    const { clock, screen, tell, start, finish } = startDisplay();
    start({ task: "one" });
    start({ task: "two" });
    tell({ type: "run_stopping", reason: "interrupted", running: 2, isTerminating: true });
    await clock.advance(5000);
    expect(screen.visible()[2]).toBe("stopping: interrupted · cleaning up 2 trials · 5s");
    finish({ task: "one", failure: { type: "trial_cancelled", message: "interrupted" } });
    await clock.advance(100);
    expect(screen.visible()[3]).toBe("stopping: interrupted · cleaning up 1 trial · 5s");
  });

  test("says that trials may finish when only no new ones are taken, and when that changes", async () => {
    const { clock, screen, tell, start, finish } = startDisplay();
    start({ task: "one" });
    start({ task: "two" });
    tell({ type: "run_stopping", reason: "the budget is spent", running: 2, isTerminating: false });
    await clock.advance(5000);
    expect(screen.visible()[2]).toBe("stopping: the budget is spent · letting 2 trials finish · 5s");
    tell({ type: "run_stopping", reason: "interrupted", running: 2, isTerminating: true });
    await clock.advance(100);
    expect(screen.visible()[2]).toBe("stopping: interrupted · cleaning up 2 trials · 5s");
    finish({ task: "one" });
    finish({ task: "two" });
    await clock.advance(2000);
    expect(screen.visible()[2]).toBe("stopping: interrupted · all cleaned up · 6s");
  });

  test("hides the cursor while it paints, and leaves the terminal clean and no timer behind", async () => {
    const { clock, screen, display, tell, start } = startDisplay({ colour: true });
    start();
    await clock.advance(500);
    expect(screen.cursorVisible).toBe(false);
    tell({ type: "warning", message: "said at the last moment" });
    display.close();
    expect(screen.everything()).toEqual(["warning said at the last moment"]);
    expect(screen.cursorVisible).toBe(true);
    expect(screen.wraps).toBe(true);
    expect(clock.pendingTimers).toBe(0);
    const { writes } = screen;
    display.close();
    display.resize();
    tell({ type: "warning", message: "too late" });
    await clock.advance(5000);
    expect(screen.writes).toBe(writes);
    expect(clock.pendingTimers).toBe(0);
  });

  test("closed before it painted anything it writes nothing", async () => {
    const { clock, screen, display } = startDisplay();
    display.close();
    await clock.advance(1000);
    expect(screen.writes).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });

  test("an empty run has a bar and no division by zero", async () => {
    const { clock, screen } = startDisplay({ head: { total: 0 } });
    await clock.advance(100);
    expect(screen.visible()[0]).toMatch(/^tb2-sweep ─+ 0\/0 · 0s · ETA …$/);
  });
});
