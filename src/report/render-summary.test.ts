import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { displayWidth, plainText } from "../base/terminal-text.ts";
import type { RunSession } from "../store/run.ts";
import { renderSummary, type RenderSummaryOptions } from "./render-summary.ts";
import { RunTally } from "./run-tally.ts";
import { summarizeTally } from "./summarize-tally.ts";
import { sampleRun, sampleUnit, type SampleFailure, type SampleRun, type SampleUnit } from "./testing/sample-run.ts";

const next = ["rollout show jobs/tb2-sweep", "rollout plan job.yaml"];
const plain: RenderSummaryOptions = { columns: 100, colour: false, unicode: true };

function render(
  units: readonly SampleUnit[],
  options: Partial<RenderSummaryOptions> = {},
  changes: SampleRun = {},
  commands: readonly string[] = next,
): string {
  const run = sampleRun({ total: units.length, status: "completed", sessions: [session(4321)], ...changes });
  const tally = new RunTally(run.shape);
  for (const unit of units) tally.add(sampleUnit(unit));
  return renderSummary(summarizeTally(tally, run), commands, { ...plain, ...options });
}

function session(durationSec: number): RunSession {
  return { startedAt: 0, endedAt: durationSec * 1000, durationSec };
}

const failures: readonly SampleFailure[] = [
  { type: "agent_execution_timeout", message: "agent execution took longer than 600 s" },
  {
    type: "environment_build_failed",
    cause: "infrastructure",
    message:
      '\x1b[31mERROR\x1b[0m: failed to solve: process "/bin/sh -c apt-get update &&\n    apt-get install -y libfoo-dev" did not complete successfully: exit code 100; the log of the build goes on for many lines that nobody reads here',
  },
  { type: "verifier_reward_missing", cause: "task", message: "test.sh ended without /logs/verifier/reward.txt" },
];

/** Three agents on two datasets, with failures of three types, warnings and costs. */
function sweep(attempts: number): SampleUnit[] {
  const units: SampleUnit[] = [];
  for (const agent of ["cpe", "claude-code", "oracle"]) {
    for (const [dataset, tasks] of [
      ["terminal-bench", 12],
      ["swe-smoke", 6],
    ] as const) {
      for (let index = 0; index < tasks * attempts; index++) {
        const task = `task-${index % tasks}`;
        const mix = (index * 7 + agent.length * 3 + tasks) % 20;
        const failure = agent !== "oracle" && mix < 3 ? (failures[mix] ?? null) : null;
        const executionSec = 40 + ((index * 97 + agent.length * 13) % 500);
        units.push({
          agent,
          dataset,
          task,
          attempt: Math.floor(index / tasks) + 1,
          failure,
          reward: failure ? null : agent === "oracle" || mix > 8 ? 1 : 0,
          spendUsd: agent === "oracle" ? 0 : mix === 12 ? null : 0.02 + mix / 200,
          tries: mix === 7 ? 2 : 1,
          durationSec: executionSec + 40,
          phases: [
            { name: "environment_setup", durationSec: 3 + (index % 30) },
            { name: "agent_setup", durationSec: 4 + (index % 4) },
            { name: "agent_execution", durationSec: executionSec },
            { name: "verifier", durationSec: failure ? null : 5 + (index % 14) },
          ],
          warnings: mix === 5 ? ["the verifier could not fetch its own tools: its reward may be wrong"] : [],
        });
      }
    }
  }
  return units;
}

describe("renderSummary", () => {
  test.each([
    ["summary-120", 1, { columns: 120 }],
    ["summary-80", 1, { columns: 80 }],
    ["summary-80-attempts", 4, { columns: 80 }],
    ["summary-40", 1, { columns: 40 }],
    ["summary-120-ascii", 4, { columns: 120, unicode: false }],
    ["summary-80-colour", 1, { columns: 80, colour: true }],
  ] as const)("reads as %s.txt shows", async (name, attempts, options) => {
    const text = render(sweep(attempts), options, { metrics: ["mean", "sum", "min", "max"] });
    await expect(text).toMatchFileSnapshot(`fixtures/${name}.txt`);
  });

  test("a run without units says so", () => {
    expect(render([], {}, { sessions: [session(0.2)] }, [])).toBe(
      "tb2-sweep · completed in 0.2s\nno trials to run\n\nresults  jobs/tb2-sweep\n",
    );
  });

  test("a run is shown with its description and its tags", () => {
    const text = render(
      [{ task: "a" }],
      {},
      { description: "before\nthe change", tags: { branch: "main", who: "ci" } },
    );
    expect(text).toContain("\nbefore the change\ntags branch=main, who=ci\n");
  });

  test("a run that was cancelled before anything finished says how much it skipped", () => {
    const text = render([], {}, { total: 54, status: "cancelled", sessions: [session(3)] });
    expect(text).toContain("tb2-sweep · cancelled after 3.0s\n0 of 54 trials finished · 54 skipped\n");
  });

  test("a run that is looked at while it runs has units that are not finished", () => {
    const units = [
      { task: "a" },
      { task: "b", failure: failures[0] ?? null },
      { task: "c", failure: failures[1] ?? null },
    ];
    const plan = { total: 11, groups: [{ labels: { agent: "cpe", dataset: "terminal-bench" }, total: 11 }] };
    const running = render(units, { columns: 140 }, { ...plan, status: "running" });
    expect(running).toContain(
      "3 of 11 trials finished · 1 passed · 1 not passed (1 failed) · 1 not counted: infrastructure · 8 not finished\n",
    );
    expect(running).not.toContain("skipped");
    expect(running).toMatch(/ passed +not counted .*\n.* 50% .* 1 of 2 +1 /);
    const stopped = render(units, { columns: 140 }, { ...plan, status: "cancelled" });
    expect(stopped).toContain("8 skipped");
  });

  test.each([
    ["completed", "completed in 1h12m", "1 passed"],
    ["cancelled", "cancelled after 1h12m", "1 skipped"],
    ["budget_exhausted", "stopped by its budget after 1h12m", "1 skipped"],
    ["failed", "failed after 1h12m", "1 not finished"],
    ["interrupted", "interrupted after 1h12m", "1 not finished"],
    ["running", "running, 1h12m so far", "1 not finished"],
    ["paused", "paused, 1h12m so far", "1 not finished"],
  ] as const)("a run that is %s says: %s", (status, heading, rest) => {
    const text = render([{}], {}, { status, total: status === "completed" ? 1 : 2 });
    expect(text).toContain(`tb2-sweep · ${heading}`);
    expect(text).toContain(rest);
  });

  test("the duration of a run is that of all its sessions", () => {
    const text = render([{}], {}, { sessions: [session(60), { ...session(3600), endedAt: null }, session(660)] });
    expect(text).toContain("tb2-sweep · completed in 1h12m over 3 sessions");
  });

  test("a job whose trials all failed has completed", () => {
    expect(render([{ failure: failures[0] ?? null }])).toContain("tb2-sweep · completed in 1h12m");
  });

  test.each(["dataset", "experiment"] as const)("a %s in which everything failed has failed", (kind) => {
    const failure = failures[0] ?? null;
    expect(render([{ failure }], {}, { kind })).toContain("tb2-sweep · failed after 1h12m");
    // A scorer can score the output of a unit that failed.
    expect(render([{ failure, reward: 0 }], {}, { kind })).toContain("tb2-sweep · failed after 1h12m");
    expect(render([{ failure }, { task: "b" }], {}, { kind })).toContain("tb2-sweep · completed in 1h12m");
  });

  test("scores of the run as a whole are shown with their label and reason, or with their error", () => {
    const scores = [
      { name: "f1", value: 0.75, label: "good", reason: "3 of 4" },
      { name: "recall", value: null, error: "no \x1b[31mitems" },
    ];
    const text = render([{}], {}, { scores });
    expect(text).toMatch(/of the whole run +score\nf1 +0\.75 +good; 3 of 4\nrecall +– +no items\n/);
  });

  test("untrusted passes count and are shown beside the rate", () => {
    const text = render([{ untrusted: ["a tool was changed"] }, { task: "b" }, { task: "c", reward: 0 }]);
    expect(text).toMatch(/ 67% .* 2 of 3, 1 untrusted /);
  });

  test("one agent on several datasets has a row for all of them; different agents have none", () => {
    const one = [{ agent: "cpe" }, { agent: "cpe", dataset: "swe-smoke", reward: 0 }];
    const text = render(one);
    expect(text).toMatch(/^all +50% .* 1 of 2 /m);
    expect(text).toMatch(/^all +0\.50$/m);
    expect(render([...one, { agent: "nop" }])).not.toMatch(/^all /m);
    expect(render([{ agent: "cpe" }, { agent: "nop" }])).not.toMatch(/^all /m);
    expect(render([{}])).not.toMatch(/^all /m);
  });

  test("one long name pushes out neither the bar nor the interval nor the counts", () => {
    const agent = `claude-code-${"with-many-settings-".repeat(4)}v2`;
    const units = [{ agent }, { agent, task: "b", failure: failures[0] ?? null }, { agent: "cpe", dataset: "tasks" }];
    const titles = (columns: number): string => render(units, { columns }).split("\n")[3] ?? "";
    expect(titles(80)).toMatch(/agent .* 0% +100% +95% CI +passed/);
    expect(render(units, { columns: 80 })).toMatch(/^claude-.*….*-v2 +terminal-bench +50% /m);
    expect(titles(120)).toMatch(/0% +100% +95% CI +passed .*median time$/);
    expect(render(units, { columns: 200 })).toContain(`${agent}  terminal-bench`);
  });

  test("pass@k and pass^k are seen together or not at all", () => {
    let both = 0;
    for (let columns = 40; columns <= 140; columns++) {
      const text = render(sweep(2), { columns });
      expect(text.includes("pass@2")).toBe(text.includes("pass^2"));
      if (text.includes("pass@2")) both++;
    }
    expect(both).toBeGreaterThan(0);
    expect(both).toBeLessThan(101);
  });

  describe("of a run with a scorer", () => {
    const score = { ...sampleRun().shape, scoreName: "reward", isScore: true };

    test("says what passes", () => {
      expect(render([{}], {}, { shape: { ...score, passAt: 0.8 } })).toContain("pass (reward ≥ 0.8)");
      expect(render([{}], { unicode: false }, { shape: score })).toContain("pass (reward >= 1)");
    });

    test("puts the mean of grades and its interval before what passes, at every width", () => {
      const units = [0.2, 0.9, 0.5, 1].flatMap((reward, index) =>
        [1, 2].map((attempt) => ({ task: `t${index}`, attempt, reward })),
      );
      const titles = (columns: number): string => render(units, { columns }, { shape: score }).split("\n")[3] ?? "";
      expect(titles(120)).toMatch(/mean reward +0 +1 +95% CI +scored +pass \(reward ≥ 1\)/);
      for (let columns = 60; columns <= 120; columns++) expect(titles(columns)).toContain("mean reward");
      expect(render(units, {}, { shape: score })).toMatch(/ 0\.65 +\S+ +0\.\d+–1\.0 +8 of 8 /);
      const others = { ...score, otherScores: ["length"] };
      expect(render(units, {}, { shape: others }).split("\n")[3]).toMatch(/dataset +pass /);
    });

    test("says which score is missing if there are others", () => {
      const shape = { ...score, otherScores: ["length"] };
      expect(render([{ reward: null }], {}, { shape })).toContain("1 finished without a score of reward");
    });

    test("counts repeats as runs of items", () => {
      const units = [1, 2, 3].flatMap((attempt) => [{ attempt }, { attempt, task: "b" }]);
      const shape = { ...score, unitNoun: "run", itemLabel: "item", itemCount: 2 };
      expect(render(units, {}, { shape })).toContain("6 runs of 2 items · 6 passed\n");
      expect(render(units, {}, { shape, total: 8 })).toContain("6 of 8 runs of 2 items finished");
    });

    test("has failed when all of it did, and has no column for marks that nobody gives", () => {
      const shape = { ...score, scoreName: "", isScore: false };
      const text = render([{ failure: failures[0] ?? null }], {}, { shape, kind: "dataset" });
      expect(text).toContain("tb2-sweep · failed after 1h12m");
      expect(text).not.toContain("mean");
      expect(text).toMatch(/finished +failed/);
    });
  });

  test("bounds near the ends are told with a digit more, so that none claims certainty", () => {
    const units = Array.from({ length: 1000 }, (_, index) => ({ task: `t${index}` }));
    expect(render(units)).toContain("99.6–100%");
    expect(render(units.map((unit) => ({ ...unit, reward: 0 })))).toContain("0–0.4%");
    expect(render([...units, { task: "no", reward: 0 }])).toContain("99–100%");
  });

  test("a run that nobody marks has a row for each agent with what finished, what failed, costs and times", () => {
    const spendUsd = 0.25;
    const text = render([
      { agent: "cpe", reward: null, spendUsd },
      { agent: "cpe", task: "b", reward: null, spendUsd, durationSec: 36 },
      { agent: "cpe", task: "c", failure: failures[0] ?? null, durationSec: 600 },
      { agent: "nop", reward: null, durationSec: 0.5 },
    ]);
    expect(text).toContain(
      [
        "agent  dataset         finished  failed   cost  median time",
        "cpe    terminal-bench    2 of 3       1  $0.50          36s",
        "nop    terminal-bench    1 of 1       0     $0         0.5s",
      ].join("\n"),
    );
    expect(text).not.toContain("pass");
  });

  test("times that are read side by side have one unit", () => {
    const phases = (...seconds: number[]) =>
      ["setup", "agent_setup", "agent", "verifier"].map((name, index) => ({
        name,
        durationSec: seconds[index] ?? null,
      }));
    const fast = render([{ phases: phases(0.003, 0, 0.099, 0.1), durationSec: 0.21 }]);
    expect(fast).toMatch(/setup +3ms +3ms .*\nagent setup +0ms +0ms\nagent +99ms +99ms .*\nverifier +100ms +100ms /);
    expect(fast).toMatch(/median time\n.* 210ms$/m);
    const slow = render([{ phases: phases(0.003, 0, 0.099, 125), durationSec: 126 }]);
    expect(slow).toMatch(
      /setup +0\.0s +0\.0s\nagent setup +0\.0s +0\.0s\nagent +0\.1s +0\.1s\nverifier +2m05s +2m05s /,
    );
  });

  test("one cause of a type of failure does not hide another", () => {
    const failed = (index: number, message: string): SampleUnit => ({
      agent: index % 2 === 0 ? "fails" : "throws",
      dataset: "tasks",
      task: `t${index}`,
      failure: { type: "verifier_failed", message },
    });
    const text = render([
      ...Array.from({ length: 10 }, (_, index) => failed(index, `test.sh ended with ${index + 1}: see 'log-${index}'`)),
      failed(10, "the engine said no"),
      failed(11, "the engine said no"),
      failed(12, "no space left"),
      failed(13, "alpha"),
      failed(14, "beta"),
    ]);
    const section = text.slice(text.indexOf("failures: "), text.indexOf("\n\nresults"));
    expect(section.split("\n")).toEqual([
      "failures: 15 by the agent",
      "  15  verifier_failed",
      "        10  test.sh ended with 1: see 'log-0'",
      "            e.g. fails/tasks/t0__1",
      "         2  the engine said no",
      "            e.g. fails/tasks/t10__1",
      "         1  no space left",
      "            e.g. fails/tasks/t12__1",
      "        + 2 more causes",
      "      fails/tasks 8, throws/tasks 7",
    ]);
  });

  test("a single cause more is said in the singular, and an unknown number as at least so many", () => {
    const failed = (count: number): SampleUnit[] =>
      Array.from({ length: count }, (_, index) => ({
        task: `t${index}`,
        failure: { type: "verifier_failed", message: `${"x".repeat(index + 1)} is missing` },
      }));
    expect(render(failed(4))).toContain("  + 1 more cause\n");
    expect(render(failed(50))).toContain("  + 47 more causes\n");
    expect(render(failed(60))).toContain("  + at least 48 more causes\n");
  });

  test("failures of the infrastructure are called so, by type or by cause", () => {
    const lost = { type: "verifier_failed", message: "the engine is gone", cause: "infrastructure" } as const;
    const other = { type: "verifier_failed", message: `exit code 2 ${"of the tests ".repeat(30)}` };
    expect(render([{ failure: lost }])).toContain("1  verifier_failed (infrastructure)\n     the engine is gone\n");
    const mixed = render([{ failure: lost }, { task: "b", failure: other }, { task: "c", failure: other }]);
    expect(mixed).toContain("3  verifier_failed\n");
    expect(mixed).toContain("1  the engine is gone (infrastructure)\n");
    const many = Array.from({ length: 51 }, (_, index) => ({
      task: `t${index}`,
      failure: {
        ...lost,
        message: "x".repeat(index + 1),
        cause: index < 50 ? ("infrastructure" as const) : ("agent" as const),
      },
    }));
    expect(render(many)).toContain("51  verifier_failed\n");
    const long = render([{ failure: { ...other, cause: "infrastructure" } }, { task: "b", failure: other }]);
    expect(long.match(/… \(infrastructure\)\n/g)).toHaveLength(1);
  });

  test("a failure of the agent counts as not passed", () => {
    const units = Array.from({ length: 10 }, (_, index) => ({
      task: `t${index}`,
      failure: index < 2 ? (failures[0] ?? null) : null,
    }));
    const text = render(units);
    expect(text).toContain("10 trials · 8 passed · 2 not passed (2 failed)");
    expect(text).toMatch(/cpe +terminal-bench +80% .* 8 of 10 /);
  });

  test("the name that a message begins with is there as a whole, however long it is", () => {
    const image = `registry.example.org:5000/${"team/".repeat(12)}base-image-of-the-lab:2026-11-16`;
    const message = `the base image ${image} cannot be had: failed to do request: dial tcp: no such host`;
    const text = render([{ failure: { type: "environment_build_failed", message, cause: "infrastructure" } }], {
      columns: 80,
    });
    expect(text.replaceAll(/\s/g, "")).toContain(image);
    expect(text.split("\n").every((line) => line.length <= 80)).toBe(true);
  });

  test("failures of infrastructure are not counted, and are shown", () => {
    const lost = { type: "environment_start_failed", message: "no engine", cause: "infrastructure" } as const;
    const own = { type: "agent_execution_failed", message: "exit code 1", cause: "agent" } as const;
    const units = Array.from({ length: 10 }, (_, index) => ({
      task: `t${index}`,
      failure: index < 5 ? lost : index < 6 ? own : null,
    }));
    const text = render(units);
    expect(text).toContain("failures: 5 by infrastructure, 1 by the agent\n");
    expect(text).toContain("10 trials · 4 passed · 1 not passed (1 failed) · 5 not counted: infrastructure\n");
    expect(text).toMatch(/cpe +terminal-bench +80% .* 4 of 5 +5 /);
    expect(render(units.slice(5))).not.toContain("not counted");
  });

  test("a run in which everything failed passes 0%", () => {
    const text = render([{ failure: failures[0] ?? null }]);
    expect(text).toContain("1 trial · 1 not passed (1 failed)");
    expect(text).toMatch(/cpe +terminal-bench +0% .* 0 of 1/);
    expect(text).not.toMatch(/NaN|undefined|null/);
  });

  test("trials that nobody marked are told apart from those that failed", () => {
    expect(render([{ reward: null }])).toContain("1 trial · 1 finished without a score");
  });

  test("a reward that is not 0 or 1 gets its own mean and interval", () => {
    const units = [0.2, 0.5, 0.9, 1].map((reward, index) => ({ task: `t${index}`, reward }));
    const text = render(units, { columns: 140 });
    expect(text).toMatch(/mean reward +95% CI/);
    expect(text).toMatch(/0\.65 +0\.06–1\.0/);
  });

  test("costs that are not known are never shown as nothing", () => {
    const text = render([{ spendUsd: null }, { task: "b", spendUsd: 1.5 }], { columns: 120 });
    expect(text).toContain("$1.50 · cost of 1 trial unknown");
    expect(text).toContain("$1.50 + ?");
    expect(render([{ spendUsd: null }])).toMatch(/cost of 1 trial unknown[^]* unknown /);
    expect(render([{ spendUsd: 0 }])).not.toContain("$");
  });

  test("a scored unit with a failed teardown is not shown as lost", () => {
    const text = render([{ reward: 1, failure: { type: "environment_teardown_failed", message: "busy" } }]);
    expect(text).toContain("1 trial scored all the same");
  });

  test("long lists of failures and warnings are cut and counted", () => {
    const units = Array.from({ length: 14 }, (_, index) => ({
      task: `t${index}`,
      failure: { type: `type_${index}`, message: "x" },
      warnings: [`warning ${index}`],
    }));
    const text = render(units);
    expect(text).toContain("+ 4 more types");
    expect(text).toContain("+ 9 more warnings\n");
    expect(render([...units, ...units])).toContain("+ 18 more warnings of 9 kinds\n");
  });

  test("hostile text cannot drive the terminal", () => {
    const hostile = "\x1b[2J\x1b]0;x\x07evil\u202e\n\n";
    const unit = { agent: hostile, task: hostile, warnings: [hostile], failure: { type: hostile, message: hostile } };
    const text = render([unit], {}, { name: hostile, location: hostile }, [hostile]);
    expect(text).not.toMatch(/[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]/);
  });

  test("no line is wider than the terminal, except what is there to be copied", () => {
    const units = sweep(2);
    const name = fc.string({ unit: "grapheme", maxLength: 30 });
    fc.assert(
      fc.property(fc.integer({ min: 40, max: 200 }), name, (columns, agent) => {
        const text = render([...units.slice(0, 40), { agent, warnings: [agent] }], { columns }, {}, []);
        for (const line of text.split("\n")) expect(displayWidth(plainText(line))).toBeLessThanOrEqual(columns);
      }),
      { numRuns: 60 },
    );
  });
});
