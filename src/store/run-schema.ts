import { z } from "zod";
import { failureCauses, runStatuses, unitStatuses } from "./run.ts";
import { jsonSchemaVersion } from "./run-json.ts";

// JSON has no NaN and no infinity: such a number is null.
const number = z.number().nullable();
const count = z.int().min(0);
const time = z.iso.datetime();
const names = z.record(z.string(), z.string());
const values = z.record(z.string(), z.json());
const schemaVersion = { schema_version: z.literal(jsonSchemaVersion) };

const failure = z.strictObject({
  type: z.string().describe("agent_execution_timeout, target_failed, …"),
  message: z.string(),
  phase: z.string().nullable().describe("the phase that was running"),
  cause: z.enum(failureCauses),
  fingerprint: z.string().describe("equal for failures that differ only in numbers, paths, quoted text and times"),
});

const score = z.strictObject({
  name: z.string(),
  value: number.describe("null if no score was given"),
  label: z.string().optional(),
  reason: z.string().optional(),
  error: z.string().optional().describe("why the scorer failed"),
  metadata: values.optional(),
});

const unitFields = {
  index: count.describe("place in the plan of the run, from 0"),
  key: z.string().describe("unique in the run"),
  labels: names,
  status: z.enum(unitStatuses),
  phases: z.array(z.strictObject({ name: z.string(), duration_sec: number })),
  usage: z.strictObject({ input_tokens: number, output_tokens: number, cost_usd: number }).nullable(),
  spend_usd: number.describe("everything the unit cost; null when unknown"),
  tries: count.describe("1 + retries"),
  started_at: time,
  ended_at: time.nullable(),
  duration_sec: number,
  scores: z.array(score),
  failure: failure.nullable(),
  input: z.json().optional(),
  expected: z.json().optional(),
  output: z.json().optional(),
  truncated: z
    .array(z.strictObject({ field: z.enum(["input", "expected", "output"]), bytes: count, artifact: z.string() }))
    .optional()
    .describe("values that were cut, and the artifacts that contain them completely"),
  artifacts: z.array(z.strictObject({ name: z.string(), size: count, media_type: z.string() })),
  warnings: z.array(z.string()),
  untrusted: z.array(z.string()).describe("reasons not to trust the scores"),
  details: values.describe("facts of one feature only"),
};

const interval = z.strictObject({
  low: number,
  high: number,
  method: z.enum(["wilson", "t", "bootstrap"]),
  level: z.literal(0.95),
});

const headline = z.strictObject({
  score: z.string(),
  measure: z.enum(["pass_rate", "mean"]),
  value: number,
  interval: interval.nullable(),
  passed: count,
  counted: count,
  excluded: z.record(z.string(), z.number()),
});

const shape = z.strictObject({
  group_by: z.array(z.string()),
  item_label: z.string(),
  score_name: z.string().describe("the score the run is about; empty if nothing is scored"),
  other_scores: z.array(z.string()).optional(),
  shows_cost: z.boolean().optional(),
  pass_at: number.describe("a score of at least this passes"),
  is_score: z.boolean().optional(),
  item_count: count.optional(),
  unit_noun: z.string(),
});

const plan = z.strictObject({
  total: count.describe("units in total"),
  concurrency: count,
  groups: z.array(z.strictObject({ labels: names, total: count })),
  budget: z.array(
    z.strictObject({
      name: z.string(),
      limit: number,
      spent: number,
      at_most: number,
      unknown: z.array(z.string()),
    }),
  ),
  metrics: z.array(z.string()),
});

const runFields = {
  id: z.string(),
  kind: z.enum(["job", "dataset", "experiment"]),
  name: z.string(),
  description: z.string().nullable(),
  status: z.enum(runStatuses),
  is_resumable: z.boolean(),
  created_at: time,
  ended_at: time.nullable(),
  sessions: z.array(z.strictObject({ started_at: time, ended_at: time.nullable(), duration_sec: number })),
  owner: z
    .strictObject({ pid: count, hostname: z.string() })
    .nullable()
    .describe("the process that works on the run; null if none does"),
  shape,
  plan,
  counts: z.strictObject({
    finished: count,
    completed: count,
    failed: count,
    cancelled: count,
    untrusted: count,
  }),
  headline: headline.nullable(),
  groups: z.array(z.strictObject({ labels: names, headline })).describe("headlines of rows, where a run has several"),
  spend_usd: number,
  unknown_spends: count.describe("units whose cost is unknown"),
  scores: z.array(score).describe("scores of the run as a whole"),
  targets: z.array(z.string()),
  datasets: z.array(z.strictObject({ name: z.string(), id: z.string().nullable(), version: z.string().nullable() })),
  location: z.string(),
  params: values,
  tags: names,
  git: z.strictObject({ revision: z.string(), is_dirty: z.boolean() }).nullable(),
  rollout_version: z.string(),
  error: z.string().nullable().describe("the error that ended the run early"),
  warnings: z.array(z.string()),
  notes: z.array(z.string()),
  details: values.describe("facts of one feature only"),
};

// With an id, the generated schema of events defines them once.
const run = z.strictObject(runFields).meta({ id: "Run" });
const unit = z.strictObject(unitFields).meta({ id: "Unit" });

function event<Type extends string, Fields extends z.ZodRawShape>(type: Type, fields: Fields) {
  return z.strictObject({ ...schemaVersion, type: z.literal(type), at: time, ...fields });
}

/** The JSON form of a run, as `runJson` makes it. */
export const runSchema = z.strictObject({ ...schemaVersion, ...runFields });

/** The JSON form of a unit, as `unitJson` makes it. */
export const unitSchema = z.strictObject({ ...schemaVersion, ...unitFields });

/** The JSON form of an event, as `eventJson` makes it. */
export const eventSchema = z.discriminatedUnion("type", [
  event("run_started", { run }),
  event("unit_started", { key: z.string(), labels: names }),
  event("unit_phase", { key: z.string(), phase: z.string() }),
  event("unit_activity", { key: z.string(), line: z.string() }),
  event("unit_retry", { key: z.string(), tries: count, wait_ms: number, failure }),
  event("unit_finished", { unit }),
  event("unit_restored", { unit }),
  event("run_activity", { line: z.string(), key: z.string().optional() }),
  event("run_paused", {}),
  event("run_continued", {}),
  event("warning", { message: z.string() }),
  event("run_stopping", { reason: z.string(), running: count, is_terminating: z.boolean() }),
  event("run_finished", { run, next: z.array(z.string()) }),
  event("reset", {}),
]);
