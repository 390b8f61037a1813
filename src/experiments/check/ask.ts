import assert from "node:assert/strict";
import type { z } from "zod";
import type { Json, JsonObject } from "../../base/json.ts";
import type { Capability } from "../protocol.ts";
import { messageSchemas } from "../protocol-schema.ts";
import { evalInput, taskInput, type CheckSubject } from "./check-rule.ts";
import type { Conversation } from "./conversation.ts";

/** Discovers and sets an executor up, in the basic way or with capabilities. */
export async function setUp(
  talk: Conversation,
  subject: CheckSubject,
  used?: readonly Capability[],
  more: JsonObject = {},
): Promise<void> {
  talk.say(used === undefined ? { cmd: "discover" } : { cmd: "discover", capabilities: used });
  await takeDiscovery(talk);
  const extras = used === undefined ? {} : { capabilities: used, ...more };
  talk.say({ cmd: "init", max_workers: 4, params: subject.discovered.params, ...extras });
  const answer = check("init-answer", await talk.take("the answer to init", (message) => "ok" in message));
  assert.equal(answer["ok"], true, `init was refused: ${text(answer["error"])}`);
}

/** The answer to discover; one that tells an error is refused with it. */
export async function takeDiscovery(talk: Conversation): Promise<JsonObject> {
  const answer = await talk.take("the answer to discover", (message) => !("log" in message));
  assert.ok(!answer["error"], `discover was answered with an error: ${text(answer["error"])}`);
  return check("discover-answer", answer);
}

/** Sends a task and waits for its answer, whatever it says. */
export async function runTask(
  talk: Conversation,
  subject: CheckSubject,
  id: string,
  more?: JsonObject,
): Promise<JsonObject> {
  talk.say({ cmd: "run_task", input: taskInput(subject, id, more) });
  return await takeTask(talk, `${id}#1`);
}

/** The answer to a task. */
export async function takeTask(talk: Conversation, runId: string): Promise<JsonObject> {
  const isIt = (message: JsonObject): boolean => message["run_id"] === runId && !("evaluator" in message);
  const describeOther = (message: JsonObject): string | null =>
    "output" in message || "error" in message ? describeRunId(message, runId) : null;
  return check("task-answer", await talk.take(`the answer to the task ${runId}`, isIt, describeOther));
}

/** Asks for one evaluation in the way that the executor understands. */
export async function runEval(
  talk: Conversation,
  subject: CheckSubject,
  evaluator: string,
  output: Json,
): Promise<JsonObject> {
  const wish = subject.isMarked ? { evaluator } : { evaluators: [evaluator] };
  talk.say({ cmd: "run_eval", input: evalInput(subject, "eval", output), ...wish });
  return await takeEval(talk, evaluator, "eval#1");
}

/** The answer of an evaluator. */
export async function takeEval(talk: Conversation, evaluator: string, runId: string): Promise<JsonObject> {
  const isIt = (message: JsonObject): boolean => message["evaluator"] === evaluator && message["run_id"] === runId;
  const what = `the answer of the evaluator "${evaluator}" to ${runId}`;
  return check("eval-answer", await talk.take(what, isIt, describeOther));

  function describeOther(message: JsonObject): string | null {
    if (!("score" in message || "evaluator" in message || "error" in message)) return null;
    if (message["run_id"] !== runId) return describeRunId(message, runId);
    return `an answer came with evaluator ${text(message["evaluator"])}, not ${evaluator}`;
  }
}

function describeRunId(message: JsonObject, wanted: string): string {
  const found = "run_id" in message ? `with run_id ${text(message["run_id"])}` : "without run_id";
  const error = message["error"] ? ` (its error: ${text(message["error"])})` : "";
  return `an answer came ${found}, not ${wanted}${error}`;
}

/** Shows that the executor still answers. */
export async function stillAnswers(talk: Conversation): Promise<void> {
  talk.say({ cmd: "discover" });
  await talk.take("an answer to discover after that", (message) => "evaluators" in message);
}

/** Ends the talk properly; answers that nobody asked for are told. */
export async function shutDown(talk: Conversation): Promise<void> {
  talk.say({ cmd: "shutdown" });
  check("shutdown-answer", await talk.take("the answer to shutdown", (message) => "ok" in message));
  const left = talk.rest.filter((message) => !("log" in message || "heartbeat" in message));
  assert.deepEqual(left, [], "there are answers that nobody asked for");
}

/** The message, if it is as its schema says. */
export function check(name: keyof typeof messageSchemas, message: JsonObject): JsonObject {
  const schema: z.ZodType = messageSchemas[name];
  const { success, error } = schema.safeParse(message);
  if (success) return message;
  const problems = error.issues.map(({ path, message: words }) => `${path.join(".")}: ${words}`);
  throw new Error(`it is not as schemas/executor/${name}.schema.json says: ${problems.join("; ")}`);
}

/** An error in an answer, as text. */
export function text(error: Json | undefined): string {
  return typeof error === "string" ? error : JSON.stringify(error ?? null);
}
