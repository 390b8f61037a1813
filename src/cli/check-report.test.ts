import { describe, expect, test } from "vitest";
import { displayWidth } from "../base/terminal-text.ts";
import type { TaskVerdict } from "../jobs/check/task-verdict.ts";
import { renderCheck, type CheckReport } from "./check-report.ts";

function verdictOf(taskName: string, changes: Partial<TaskVerdict> = {}): TaskVerdict {
  const counts = { oracle: { judged: 3, passed: 3 }, nop: { judged: 3, passed: 0 } };
  const known = { verdict: "ok", findings: [], needsNetwork: null, warnings: [] } as const;
  return { datasetName: "tasks", taskName, ...known, ...counts, ...changes };
}

function render(verdicts: readonly TaskVerdict[], columns = 100, changes: Partial<CheckReport> = {}): string {
  const report = {
    jobDir: "/home/me/jobs/a job",
    offlineJobDir: null,
    networkNotLookedAt: null,
    attempts: 3,
    verdicts,
  };
  return renderCheck({ ...report, ...changes }, { columns, cwd: "/home/me", colour: false, unicode: true });
}

const untouched = verdictOf("untouched", {
  verdict: "passes_untouched",
  nop: { judged: 3, passed: 1 },
  findings: [
    { kind: "passes_untouched", title: "passes untouched", message: "1 of 3", trialDir: "/home/me/jobs/a job/x" },
    { kind: "flaky", title: "flaky (nop)", message: "1 of 3", trialDir: "/home/me/jobs/a job/y" },
  ],
});

describe("the report of a check", () => {
  test("has a table, the findings, one line of counts and what to type next", () => {
    expect(render([untouched, verdictOf("fine")])).toBe(`task       oracle     nop  verdict
untouched  3 of 3  1 of 3  passes untouched, flaky (nop)
fine       3 of 3  0 of 3  ok

untouched
  passes untouched: 1 of 3
  rollout show 'jobs/a job/x'
  flaky (nop): 1 of 3
  rollout show 'jobs/a job/y'

2 tasks checked, 3 attempts of each agent · 1 ok · 1 passes untouched

results  jobs/a job
next     rollout show 'jobs/a job/x'
         rollout show 'jobs/a job'
`);
  });

  test("is never wider than the terminal but for what is there to be copied", () => {
    const long = verdictOf("a-task-with-a-very-long-name-that-nobody-can-remember", {
      ...untouched,
      taskName: "a-task-with-a-very-long-name-that-nobody-can-remember",
      warnings: ["oracle, 3 of 3: the verifier could not reach the network, and that is a long story to tell"],
    });
    for (const columns of [30, 60, 80]) {
      const lines = render([long], columns, { networkNotLookedAt: "it cannot" }).split("\n");
      const wide = lines.filter((line) => displayWidth(line) > columns && !/rollout show|^results/.test(line));
      expect(wide).toEqual([]);
    }
  });

  test("names tasks by their dataset where there are several, and lists only some of many that are ok", () => {
    const text = render([
      untouched,
      ...Array.from({ length: 30 }, (_, index) => verdictOf(`fine-${index}`, { datasetName: "others" })),
    ]);
    expect(text).toMatch(/^tasks\/untouched /m);
    expect(text).toMatch(/^others\/fine-19 /m);
    expect(text).not.toContain("fine-20");
    expect(text).toContain("+ 10 more tasks that are ok");
  });

  test("shows nothing of a task's words that could drive the terminal", () => {
    expect(render([verdictOf("a\u001b[2Jb", { warnings: ["\u001b]0;title\u0007"] })])).not.toContain("\u001b");
  });
});
