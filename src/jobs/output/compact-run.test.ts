import { expect, test } from "vitest";
import { sampleRun } from "../../store/conformance/sample-run.ts";
import { durationSecOf, type Run, type RunHeadline } from "../../store/run.ts";
import { compactRun, maxRunFileBytes } from "./compact-run.ts";

function sizeOf(run: Run): number {
  return Buffer.byteLength(`${JSON.stringify(run, null, 2)}\n`);
}

function list<T>(length: number, make: (index: number) => T): T[] {
  return Array.from({ length }, (_, index) => make(index));
}

test("a run of usual size stays as it is", () => {
  const run = sampleRun({ warnings: ["careful"], notes: ["a note"], details: { selection: { limit: 3 } } });
  expect(compactRun(run)).toBe(run);
});

test("200 long warnings are cut to 8 KB, with the first ones at the front", () => {
  const run = sampleRun({ warnings: list(200, (index) => `warning ${index}: ${"x".repeat(5000)}`) });
  const compact = compactRun(run);
  expect(sizeOf(compact)).toBeLessThanOrEqual(maxRunFileBytes);
  expect(compact.warnings).toHaveLength(10);
  expect(compact.warnings[9]).toBe(`warning 9: ${"x".repeat(189)}`);
  expect(compact).toEqual({ ...run, warnings: compact.warnings, details: { selection: null } });
});

test("whatever is long, a run takes at most 8 KB and keeps its numbers", () => {
  const long = "長い😀".repeat(2000);
  const headline: RunHeadline = {
    score: "reward",
    measure: "pass_rate",
    value: 0.5,
    interval: { low: 0.1, high: 0.9, method: "wilson", level: 0.95 },
    passed: 1,
    counted: 2,
    excluded: { infrastructure: 1, configuration: 1, rollout: 1, cancelled: 1, task_invalid: 1, task_not_found: 1 },
  };
  const run = sampleRun({
    name: "n".repeat(255),
    location: "l".repeat(4000),
    description: long,
    error: long,
    warnings: list(200, () => long),
    notes: list(200, () => long),
    targets: list(300, (index) => `${index}${long}`),
    datasets: list(300, () => ({ name: long, id: null, version: long })),
    tags: Object.fromEntries(list(300, (index) => [`${index}${long}`, long])),
    sessions: list(500, (index) => ({ startedAt: index, endedAt: index + 1, durationSec: 1.5 })),
    counts: { finished: 5, completed: 3, failed: 1, cancelled: 1, untrusted: 2 },
    plan: {
      ...sampleRun().plan,
      groups: list(300, (index) => ({ labels: { agent: long, dataset: String(index) }, total: 9 })),
    },
    headline,
    groups: list(300, (index) => ({ labels: { agent: long, dataset: String(index) }, headline })),
    details: { job_file: "job.yaml", selection: { include: list(1000, () => long) } },
  });
  const compact = compactRun(run);
  expect(sizeOf(compact)).toBeLessThanOrEqual(maxRunFileBytes);
  expect(JSON.stringify(compact).isWellFormed()).toBe(true);
  expect(compact).toMatchObject({
    id: run.id,
    name: run.name,
    location: run.location,
    counts: run.counts,
    headline,
    plan: { total: run.plan.total },
    details: { job_file: "job.yaml" },
  });
  expect(durationSecOf(compact)).toBe(durationSecOf(run));
  expect(compact.sessions[0]?.startedAt).toBe(0);
  expect(compact.sessions.at(-1)?.endedAt).toBe(500);
});
