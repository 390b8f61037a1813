import { describe, expect, test } from "vitest";
import type { RunEvent } from "../store/run.ts";
import { createJsonEvents } from "./json-events.ts";
import { sampleFailure, sampleRun, sampleUnit } from "./testing/sample-run.ts";

const at = Date.parse("2025-01-15T10:30:00Z");
const failure = { type: "verifier_failed", message: "exit code 2\n\u2028\x1b[31m" };
const lost = sampleFailure({ ...failure, phase: "verifier", cause: "infrastructure" });
const groups = [{ labels: { agent: "cpe", dataset: "terminal-bench" }, total: 54 }];

const events: RunEvent[] = [
  { type: "run_started", at, run: sampleRun({ groups }) },
  { type: "unit_started", at, key: "k", labels: { agent: "cpe" } },
  { type: "unit_phase", at, key: "k", phase: "verifier" },
  { type: "unit_activity", at, key: "k", line: 'a "line"' },
  { type: "unit_retry", at, key: "k", tries: 1, waitMs: 1000, failure: lost },
  {
    type: "unit_finished",
    at,
    unit: sampleUnit({ failure, phases: [{ name: "verifier", durationSec: null }], warnings: ["w"] }),
  },
  { type: "run_activity", at, line: "building" },
  { type: "warning", at, message: "careful" },
  { type: "run_stopping", at, reason: "interrupted", running: 2, isTerminating: true },
  { type: "run_paused", at },
  { type: "run_continued", at },
  { type: "unit_restored", at, unit: sampleUnit({ output: { someName: 1 } }) },
  { type: "run_finished", at, run: sampleRun({ status: "cancelled", endedAt: at }), next: ["rollout show x"] },
];

function jsonLine(event: RunEvent): string {
  const lines: string[] = [];
  createJsonEvents({ write: (text) => lines.push(text) })(event);
  expect(lines).toHaveLength(1);
  expect(lines[0]?.at(-1)).toBe("\n");
  return (lines[0] ?? "").slice(0, -1);
}

describe("JSON events", () => {
  test("are written as the golden file shows, one line each", async () => {
    const lines: string[] = [];
    const listen = createJsonEvents({ write: (text) => lines.push(text) });
    for (const event of events) listen(event);
    await expect(lines.join("")).toMatchFileSnapshot("fixtures/json-events.ndjson");
  });

  test("carry their version and an ISO time on every line", () => {
    for (const event of events) {
      const line = jsonLine(event);
      expect(line).not.toMatch(/[\n\u0085\u2028\u2029]/);
      expect(JSON.parse(line)).toMatchObject({ schema_version: 1, type: event.type, at: "2025-01-15T10:30:00.000Z" });
    }
  });

  test("have no name in camel case", () => {
    for (const event of events) {
      const line = jsonLine(event).replace('"someName"', "");
      expect(line).not.toMatch(/"[a-z]+[A-Z][A-Za-z]*":/);
    }
  });

  test("put null where JSON has no number", () => {
    const unit = sampleUnit({ reward: Number.NaN, spendUsd: Number.POSITIVE_INFINITY });
    const parsed = JSON.parse(jsonLine({ type: "unit_finished", at: Number.NaN, unit }));
    expect(parsed).toMatchObject({ at: null, unit: { spend_usd: null, scores: [{ name: "reward", value: null }] } });
  });

  test("keep the text of a message", () => {
    const message = "a\u0085b\u2028c\u2029d\ne";
    expect(JSON.parse(jsonLine({ type: "warning", at, message }))).toMatchObject({ message });
  });

  test("survive half a character", () => {
    const line = jsonLine({ type: "warning", at, message: "\ud83d" });
    expect(line.isWellFormed()).toBe(true);
  });
});
