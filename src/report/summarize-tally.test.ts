import { describe, expect, test } from "vitest";
import { RunTally } from "./run-tally.ts";
import { summarizeTally } from "./summarize-tally.ts";
import { sampleRun, sampleUnit, type SampleUnit } from "./testing/sample-run.ts";

const timeout = { type: "agent_execution_timeout", message: "too long" };

function summarize(units: readonly SampleUnit[], changes: Parameters<typeof sampleRun>[0] = {}) {
  const head = sampleRun({ total: units.length, ...changes });
  const tally = new RunTally(head.shape);
  for (const unit of units) tally.add(sampleUnit(unit));
  return summarizeTally(tally, head);
}

describe("summarizeTally", () => {
  test("an empty run has no rates and divides by nothing", () => {
    const { overall, groups } = summarize([]);
    expect(groups).toEqual([]);
    expect(overall).toMatchObject({ planned: 0, finished: 0, skipped: 0, coverage: null });
    expect(overall.marks).toMatchObject({ passRate: null, meanMark: null });
    expect(overall.duration).toBeNull();
  });

  test("the headline counts failures as not passed, and leaves out what nobody measured could help", () => {
    const passed = Array.from({ length: 6 }, (_, index) => ({ task: `p${index}` }));
    const missed = [
      { task: "m1", reward: 0 },
      { task: "m2", reward: 0.5 },
    ];
    const failed = [{ task: "f1", failure: timeout }];
    const { overall } = summarize([...passed, ...missed, ...failed], { total: 10 });
    expect(overall).toMatchObject({ planned: 10, finished: 9, scored: 8, failed: 1, skipped: 1, coverage: 0.8 });
    expect(overall.marks).toMatchObject({ passed: 6, passRate: 0.75, meanMark: 6.5 / 8 });
    expect(overall.marks.headline).toMatchObject({ passed: 6, counted: 9, rate: 6 / 9 });
    const causes = ["infrastructure", "configuration", "rollout", "cancelled"] as const;
    const excluded = causes.map((cause, index) => ({ task: `e${index}`, failure: { ...timeout, cause } }));
    const refused = { task: "r", failure: { type: "task_invalid", message: "", cause: "task" as const } };
    const fuller = summarize([...passed, ...missed, ...failed, ...excluded, refused], { total: 20 }).overall;
    expect(fuller.marks.headline).toEqual(overall.marks.headline);
    expect(fuller.excluded.map(({ reason }) => reason)).toEqual([
      "infrastructure",
      "configuration",
      "rollout",
      "cancelled",
      "task_invalid",
    ]);
  });

  test("untrusted passes count, and are counted apart", () => {
    const { overall } = summarize([
      { untrusted: ["a tool was changed"] },
      { task: "b", reward: 0, untrusted: ["a tool was changed"] },
    ]);
    expect(overall).toMatchObject({ untrusted: 2, untrustedPasses: 1 });
    expect(overall.marks.headline).toMatchObject({ passed: 1, counted: 2 });
  });

  test("a unit with a reward and a failed teardown is scored, and its failure is still counted", () => {
    const failure = { type: "environment_teardown_failed", message: "busy" };
    const { overall, failures } = summarize([{ reward: 1, failure }]);
    expect(overall).toMatchObject({ scored: 1, failed: 0 });
    expect(failures).toMatchObject([{ type: "environment_teardown_failed", count: 1, scored: 1 }]);
  });

  test("units that nobody was asked to mark are neither scored nor failed nor zeros", () => {
    const { overall } = summarize([{ reward: null }, { task: "b", reward: 1 }]);
    expect(overall).toMatchObject({ scored: 1, failed: 0, unmarked: 1, coverage: 1 });
    expect(overall.marks.headline).toMatchObject({ passed: 1, counted: 1 });
  });

  test("a mark that is not a number does not count as one", () => {
    expect(summarize([{ reward: Number.NaN }]).overall).toMatchObject({ scored: 0, unmarked: 1 });
  });

  test("rows come in the planned order, with those that never ran", () => {
    const groups = ["oracle", "cpe"].map((agent) => ({ labels: { agent, dataset: "terminal-bench" }, total: 2 }));
    const summary = summarize([{ agent: "cpe" }], { total: 4, groups });
    expect(summary.groups.map(({ labels, planned, skipped }) => [labels["agent"], planned, skipped])).toEqual([
      ["oracle", 2, 2],
      ["cpe", 2, 1],
    ]);
    expect(summary.groups[0]?.marks.headline).toMatchObject({ rate: null, counted: 0 });
  });

  test("without a plan by row, rows are sorted and their plan is known only once everything has finished", () => {
    const units = [{ agent: "b10" }, { agent: "b9" }, { agent: "a" }];
    expect(summarize(units).groups.map(({ labels, planned }) => [labels["agent"], planned])).toEqual([
      ["a", 1],
      ["b9", 1],
      ["b10", 1],
    ]);
    const stopped = summarize(units, { total: 9 });
    expect(stopped.groups[0]).toMatchObject({ planned: null, skipped: null });
    expect(stopped.overall).toMatchObject({ planned: 9, skipped: 6 });
  });

  test("attempts at one task are one item, and several attempts give pass@k", () => {
    const { groups } = summarize([
      { attempt: 1, reward: 1 },
      { attempt: 2, reward: 0 },
      { task: "other", attempt: 1, reward: 1 },
      { task: "other", attempt: 2, reward: 1 },
    ]);
    expect(groups[0]?.marks).toMatchObject({ items: 2, values: 4, passRate: 0.75 });
    expect(groups[0]?.marks.passAtK.at(-1)).toEqual({ k: 2, value: 1 });
    expect(groups[0]?.marks.passHatK.at(-1)).toEqual({ k: 2, value: 0.5 });
  });

  test("an attempt that failed has not passed for pass@k, unless infrastructure is to answer for it", () => {
    const units = [1, 2, 3, 4].flatMap((attempt) => [
      { attempt, ...(attempt > 2 ? { failure: { ...timeout, cause: "agent" as const } } : {}) },
      { task: "other", attempt },
    ]);
    const { marks } = summarize(units).overall;
    expect(marks.passAtK.map(({ k }) => k)).toEqual([1, 2, 4]);
    expect(marks.passHatK[1]?.value).toBeCloseTo((1 / 6 + 1) / 2, 12);
    const excused = units.map((unit) =>
      "failure" in unit ? { ...unit, failure: { ...timeout, cause: "infrastructure" as const } } : unit,
    );
    expect(summarize(excused).overall.marks.passHatK.at(-1)).toEqual({ k: 2, value: 1 });
  });

  test("failures are counted by type and by what led to them, with the first message and an example of each", () => {
    const failed = Array.from({ length: 5 }, (_, index) => ({
      task: `t${index}`,
      failure: { type: "verifier_failed", message: index === 3 ? "no such file" : `exit code ${index}\nmore` },
    }));
    const summary = summarize([...failed, { task: "x", failure: timeout }]);
    const exampleOf = (task: string): string => `cpe/terminal-bench/${task}__1`;
    expect(summary.failures).toEqual([
      {
        type: "verifier_failed",
        count: 5,
        scored: 0,
        causes: [
          { count: 4, origin: null, firstMessage: "exit code 0\nmore", example: exampleOf("t0") },
          { count: 1, origin: null, firstMessage: "no such file", example: exampleOf("t3") },
        ],
        otherUnits: 0,
      },
      {
        type: timeout.type,
        count: 1,
        scored: 0,
        causes: [{ count: 1, origin: null, firstMessage: "too long", example: exampleOf("x") }],
        otherUnits: 0,
      },
    ]);
    expect(summary.overall.failures).toEqual([
      { type: "verifier_failed", count: 5, scored: 0 },
      { type: timeout.type, count: 1, scored: 0 },
    ]);
    expect(summary.groups[0]?.failures).toEqual(summary.overall.failures);
  });

  test("failures of all rows add up", () => {
    const failure = { type: "environment_teardown_failed", message: "busy" };
    const { overall, groups } = summarize([
      { agent: "a", failure },
      { agent: "b", failure, reward: 1 },
      { agent: "b", task: "x", failure: timeout },
    ]);
    expect(overall.failures).toEqual([
      { type: failure.type, count: 2, scored: 1 },
      { type: timeout.type, count: 1, scored: 0 },
    ]);
    expect(groups.map((row) => row.failures.length)).toEqual([1, 2]);
  });

  test("the infrastructure's failures are told from others with the same message", () => {
    const { failures } = summarize([
      { failure: { ...timeout, cause: "infrastructure" } },
      { task: "b", failure: { ...timeout, cause: "agent" } },
      { task: "c", failure: timeout },
    ]);
    expect(failures[0]?.causes.map(({ count, origin }) => [count, origin])).toEqual([
      [2, null],
      [1, "infrastructure"],
    ]);
  });

  test("a type with ever new causes keeps fifty of them and counts the rest", () => {
    const wordOf = (index: number): string => `${"x".repeat(index)} is missing`;
    const many = Array.from({ length: 400 }, (_, index) => ({
      task: `t${index}`,
      failure: { type: "verifier_failed", message: wordOf(1 + (index % 80)) },
    }));
    const [failure] = summarize(many).failures;
    expect(failure).toMatchObject({ count: 400, otherUnits: 150 });
    expect(failure?.causes).toHaveLength(50);
  });

  test("unknown costs are counted apart from known ones", () => {
    const { overall } = summarize([{ spendUsd: 0.5 }, { task: "b", spendUsd: null }, { task: "c", spendUsd: 0.25 }]);
    expect(overall.cost).toEqual({ usd: 0.75, unknownUnits: 1 });
  });

  test("times are given by phase, over the units that reached it", () => {
    const phases = (first: number, second: number | null) => [
      { name: "setup", durationSec: first },
      { name: "verifier", durationSec: second },
    ];
    const { overall } = summarize([
      { phases: phases(1, null), durationSec: 10 },
      { task: "b", phases: phases(3, 8), durationSec: 20, tries: 3 },
    ]);
    expect(overall.phases).toEqual([
      { name: "setup", count: 2, medianSec: 2, p95Sec: 2.9 },
      { name: "verifier", count: 1, medianSec: 8, p95Sec: 8 },
    ]);
    expect(overall.duration).toMatchObject({ count: 2, medianSec: 15 });
    expect(overall.retries).toEqual({ units: 1, total: 2 });
  });

  test("a unit that reached no phase does not shorten the times", () => {
    const phases = (durationSec: number | null) => [{ name: "setup", durationSec }];
    const { overall, groups } = summarize([
      { phases: phases(null), durationSec: 0.001, failure: { type: "task_invalid", message: "no Dockerfile" } },
      { task: "b", phases: phases(0), durationSec: 20 },
    ]);
    expect(overall.duration).toMatchObject({ count: 1, medianSec: 20 });
    expect(groups[0]?.duration).toMatchObject({ count: 1, medianSec: 20 });
    expect(overall).toMatchObject({ finished: 2, failed: 1 });
  });

  test("units without any phases are timed all the same", () => {
    expect(summarize([{ durationSec: 7 }]).overall.duration).toMatchObject({ count: 1, medianSec: 7 });
  });

  test("the metrics asked for are over the same marks; one we do not know is null", () => {
    const { overall } = summarize([{ reward: 1 }, { task: "b", reward: 0.5 }, { task: "c", failure: timeout }], {
      metrics: ["sum", "min", "max", "mean", "toString"],
    });
    expect(overall.metrics.map(({ value }) => value)).toEqual([1.5, 0.5, 1, 0.75, null]);
  });

  test("warnings are counted by their text, and too many different ones are only counted", () => {
    const shared = [{ warnings: ["same"] }, { task: "b", warnings: ["same", "other"] }];
    expect(summarize(shared).warnings).toEqual([
      { text: "same", count: 2, example: "cpe/terminal-bench/chess__1" },
      { text: "other", count: 1, example: "cpe/terminal-bench/b__1" },
    ]);
    const many = Array.from({ length: 300 }, (_, index) => ({ warnings: [`path ${index}`] }));
    expect(summarize(many)).toMatchObject({ otherWarnings: 100 });
  });

  test("the summary is plain JSON", () => {
    const summary = summarize([{}, { task: "b", failure: timeout, warnings: ["w"] }]);
    expect(JSON.parse(JSON.stringify(summary))).toEqual(summary);
  });
});
