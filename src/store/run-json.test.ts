import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import type { JsonObject } from "../base/json.ts";
import { sampleFailedUnit, sampleRun, sampleUnit } from "./conformance/sample-run.ts";
import type { Run, RunEvent, Unit } from "./run.ts";
import { eventJson, runJson, unitJson, unitRowJson } from "./run-json.ts";
import { eventSchema, runSchema, unitSchema } from "./run-schema.ts";
import { toUnitRow } from "./unit-row.ts";

const camel = { camelCase: { innerName: [NaN.toString()] } };

const fullRun: Run = sampleRun({
  description: "what it is",
  status: "budget_exhausted",
  endedAt: Date.parse("2025-01-15T11:00:00Z"),
  sessions: [{ startedAt: Date.parse("2025-01-15T10:30:00.5Z"), endedAt: null, durationSec: 3.5 }],
  owner: { pid: 12, hostname: "here" },
  shape: {
    groupBy: ["agent"],
    itemLabel: "task",
    scoreName: "reward",
    otherScores: ["style"],
    showsCost: false,
    passAt: 0.5,
    isScore: true,
    itemCount: 3,
    unitNoun: "item",
  },
  plan: {
    total: 3,
    concurrency: 2,
    groups: [{ labels: { agentName: "a" }, total: 3 }],
    budget: [{ name: "cost_usd", limit: 5, spent: 1, atMost: null, unknown: ["tokens"] }],
    metrics: ["mean"],
  },
  headline: {
    score: "reward",
    measure: "pass_rate",
    value: 0.5,
    interval: { low: 0.1, high: 0.9, method: "wilson", level: 0.95 },
    passed: 1,
    counted: 2,
    excluded: { infrastructure: 1 },
  },
  scores: [{ name: "f1", value: NaN, metadata: camel }],
  datasets: [{ name: "tasks", id: null, version: "2" }],
  params: camel,
  tags: { teamName: "x" },
  git: { revision: "abc", isDirty: true },
  details: camel,
});

const fullUnit: Unit = {
  ...sampleFailedUnit(1),
  scores: [{ name: "reward", value: Infinity, label: "x", reason: "why", error: "no", metadata: camel }],
  labels: { agentName: "a" },
  expected: camel,
  output: camel,
  truncated: [{ field: "input", bytes: 70_000, artifact: "input.json" }],
  artifacts: [{ name: "log.txt", size: 5, mediaType: "text/plain" }],
  warnings: ["w"],
  untrusted: ["u"],
  details: camel,
};

const failure = fullUnit.failure ?? { type: "", message: "", phase: null, cause: "agent", fingerprint: "" };
const at = Date.parse("2025-01-15T10:30:00Z");
const events: readonly RunEvent[] = [
  { type: "run_started", at, run: fullRun },
  { type: "unit_started", at, key: "k", labels: { a: "b" } },
  { type: "unit_phase", at, key: "k", phase: "p" },
  { type: "unit_activity", at, key: "k", line: "l" },
  { type: "unit_retry", at, key: "k", tries: 2, waitMs: 100, failure },
  { type: "unit_finished", at, unit: fullUnit },
  { type: "unit_restored", at, unit: sampleUnit(0) },
  { type: "run_activity", at, line: "l" },
  { type: "run_activity", at, line: "l", key: "k" },
  { type: "run_paused", at },
  { type: "run_continued", at },
  { type: "warning", at, message: "m" },
  { type: "run_stopping", at, reason: "r", running: 2, isTerminating: false },
  { type: "run_finished", at, run: fullRun, next: ["rollout show"] },
];

/** Validates with the Zod schema and with the generated file. */
function check(name: "run" | "unit" | "event", schema: z.ZodType, json: JsonObject): void {
  const parsed: unknown = JSON.parse(JSON.stringify(json));
  expect(schema.safeParse(parsed)).toMatchObject({ success: true });
  expect(parsed).toEqual(json);
  const text = readFileSync(new URL(`../../schemas/${name}.schema.json`, import.meta.url), "utf8");
  const validate = new Ajv({ strict: false, validateFormats: false }).compile(JSON.parse(text) as object);
  expect(validate(parsed), JSON.stringify(validate.errors)).toBe(true);
}

const valueFields = /^(labels|params|tags|details|metadata|input|expected|output|excluded)$/;

function namesOf(value: unknown): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  if (Array.isArray(value)) return value.flatMap(namesOf);
  return Object.entries(value).flatMap(([name, member]) => [name, ...(valueFields.test(name) ? [] : namesOf(member))]);
}

describe("the JSON of runs, units and events", () => {
  test("meets the generated schemas", () => {
    for (const run of [fullRun, sampleRun()]) check("run", runSchema, runJson(run));
    for (const unit of [fullUnit, sampleUnit(0)]) check("unit", unitSchema, unitJson(unit));
    for (const event of events) check("event", eventSchema, eventJson(event));
    check("event", eventSchema, eventJson({ type: "reset", at }));
  });

  test("has no camelCase name and drops no field", () => {
    const pairs: readonly (readonly [object, JsonObject])[] = [
      [fullRun, runJson(fullRun)],
      [fullUnit, unitJson(fullUnit)],
      [toUnitRow(fullUnit), unitRowJson(toUnitRow(fullUnit))],
      ...events.map((event) => [event, eventJson(event)] as const),
    ];
    for (const [value, json] of pairs) {
      const names = namesOf(json);
      expect(names.filter((name) => !/^[a-z][a-z0-9_]*$/.test(name))).toEqual([]);
      expect(names.length).toBe(namesOf(value).length + 1);
      expect(json["schema_version"]).toBe(1);
    }
  });

  test("writes times as ISO 8601 and other numbers as numbers", () => {
    expect(runJson(fullRun)).toMatchObject({
      ended_at: "2025-01-15T11:00:00.000Z",
      sessions: [{ started_at: "2025-01-15T10:30:00.500Z", ended_at: null, duration_sec: 3.5 }],
      shape: { pass_at: 0.5 },
    });
    expect(eventJson({ type: "run_paused", at })).toEqual({
      schema_version: 1,
      type: "run_paused",
      at: "2025-01-15T10:30:00.000Z",
    });
  });

  test("passes values of users on untouched, and writes numbers that JSON does not have as null", () => {
    const json = unitJson(fullUnit);
    expect(json["details"]).toBe(fullUnit.details);
    expect(json["output"]).toBe(fullUnit.output);
    expect(json["labels"]).toBe(fullUnit.labels);
    expect(json["scores"]).toEqual([
      { name: "reward", value: null, label: "x", reason: "why", error: "no", metadata: camel },
    ]);
    expect(runJson(sampleRun({ spendUsd: NaN, createdAt: Infinity }))).toMatchObject({
      spend_usd: null,
      created_at: null,
    });
  });

  test("leaves out fields that are undefined and keeps null", () => {
    const json = unitJson(sampleUnit(0, { input: undefined, output: null }));
    expect("input" in json).toBe(false);
    expect(json["output"]).toBeNull();
  });
});
