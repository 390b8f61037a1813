import { z } from "zod";
import type { Json, JsonObject } from "../base/json.ts";
import type * as protocol from "./protocol.ts";

// Every object may have members that are not named here: peers add what they need.

const json = z.custom<Json>((value) => value !== undefined);
const object: z.ZodType<JsonObject> = z.record(z.string(), json);
const names = z.array(z.string());
const id = z.number().int().describe("comes back in the answer, when `ids` is used");
const maybeText = z.string().nullish();
const error = maybeText.describe("why it failed; null or absent when it did not");
const answeredMetadata = object
  .nullish()
  .describe("started_at, completed_at, execution_time_ms, and whatever the experiment adds");

const taskInput = z.looseObject({
  id: z.string().describe("of the example"),
  input: json,
  output: json.optional().describe("what is expected"),
  metadata: object.optional(),
  run_id: z.string().describe("`<id>#<repetition_number>`"),
  repetition_number: z.number().int().min(1),
  params: object,
}) satisfies z.ZodType<protocol.TaskInput>;

const evalInput = z.looseObject({
  example: z.looseObject({
    id: z.string(),
    run_id: z.string().optional(),
    input: json,
    output: json.optional().describe("what is expected"),
    metadata: object.optional(),
  }),
  actual_output: json.describe("what the task gave"),
  expected_output: json.optional(),
  task_metadata: object.optional().describe("what the task's answer had as metadata"),
  params: object,
  run_id: z.string().optional().describe("whose output it is; else the example's, else that of the example's only run"),
}) satisfies z.ZodType<protocol.EvalInput>;

const mark = {
  score: z.number().nullable().describe("null when there is none"),
  label: maybeText,
  explanation: maybeText,
  metadata: answeredMetadata,
  error,
};

const cancelled = z.boolean().optional().describe("it was told to stop, and did; when `cancel` is used");

/** The schema of every message of the executor protocol: what an orchestrator sends, and what an executor answers. */
export const messageSchemas = {
  "discover-command": z.looseObject({
    cmd: z.literal("discover"),
    capabilities: names.optional().describe("what the orchestrator understands"),
  }) satisfies z.ZodType<protocol.DiscoverCommand>,
  "discover-answer": z.looseObject({
    protocol_version: z.string(),
    name: maybeText,
    description: maybeText,
    task: maybeText,
    evaluators: names,
    aggregates: names.optional().describe("evaluators of the whole run"),
    params: object.describe("with their defaults"),
    capabilities: names.optional().describe("what the executor understands"),
  }) satisfies z.ZodType<protocol.DiscoverAnswer>,
  "init-command": z.looseObject({
    cmd: z.literal("init"),
    max_workers: z.number().int().min(1),
    params: object,
    capabilities: names.optional().describe("what is used from now on: what both sides named"),
    heartbeat_ms: z.number().positive().optional(),
  }) satisfies z.ZodType<protocol.InitCommand>,
  "init-answer": z.looseObject({ ok: z.boolean(), error }) satisfies z.ZodType<protocol.InitAnswer>,
  "task-input": taskInput,
  "run-task-command": z.looseObject({
    cmd: z.literal("run_task"),
    id: id.optional(),
    input: taskInput,
  }) satisfies z.ZodType<protocol.RunTaskCommand>,
  "task-answer": z.looseObject({
    id: id.optional(),
    run_id: z.string(),
    output: json.optional(),
    metadata: answeredMetadata,
    error,
    cancelled,
  }) satisfies z.ZodType<protocol.TaskAnswer>,
  "eval-input": evalInput,
  "run-eval-command": z.looseObject({
    cmd: z.literal("run_eval"),
    id: id.optional(),
    input: evalInput,
    evaluators: names.optional().describe("all of them when absent"),
    evaluator: z.string().optional().describe("one, for executors that mark their answers"),
  }) satisfies z.ZodType<protocol.RunEvalCommand>,
  "eval-answer": z.looseObject({
    id: id.optional(),
    run_id: z.string(),
    evaluator: z.string(),
    ...mark,
    cancelled,
  }) satisfies z.ZodType<protocol.EvalAnswer>,
  "run-aggregate-command": z.looseObject({
    cmd: z.literal("run_aggregate"),
    id,
    aggregate: z.string(),
    input: z.looseObject({ results_path: z.string().describe("JSON lines, one for each run"), params: object }),
  }) satisfies z.ZodType<protocol.RunAggregateCommand>,
  "aggregate-answer": z.looseObject({
    id,
    aggregate: z.string(),
    ...mark,
  }) satisfies z.ZodType<protocol.AggregateAnswer>,
  "cancel-command": z.looseObject({ cmd: z.literal("cancel"), id }) satisfies z.ZodType<protocol.CancelCommand>,
  "shutdown-command": z.looseObject({ cmd: z.literal("shutdown") }) satisfies z.ZodType<protocol.ShutdownCommand>,
  "shutdown-answer": z.looseObject({ ok: z.boolean() }) satisfies z.ZodType<protocol.ShutdownAnswer>,
  "log-message": z.looseObject({
    log: z.looseObject({
      run_id: z.string().nullable(),
      stream: z.enum(["stdout", "stderr", "log"]),
      text: z.string(),
      level: z.string().optional(),
    }),
  }) satisfies z.ZodType<protocol.LogMessage>,
  "heartbeat-message": z.looseObject({
    heartbeat: z.looseObject({ running: z.number().int().min(0) }),
  }) satisfies z.ZodType<protocol.HeartbeatMessage>,
  "error-answer": z.looseObject({ id: id.optional(), error: z.string() }) satisfies z.ZodType<protocol.ErrorAnswer>,
};
