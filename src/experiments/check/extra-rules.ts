import assert from "node:assert/strict";
import { capabilities } from "../protocol.ts";
import { check, runTask, setUp, shutDown, takeEval, takeTask, text } from "./ask.ts";
import { evalInput, NotChecked, NotOffered, taskInput, type CheckRule } from "./check-rule.ts";

/** What an executor has to do that names capabilities. */
export const extraRules: readonly CheckRule[] = [
  {
    name: "negotiation",
    title: "what was not agreed on is not used",
    async run(subject) {
      if (subject.capabilities.length === 0) throw new NotOffered("it names no capabilities");
      const talk = subject.open();
      await setUp(talk, subject, [], { heartbeat_ms: 20 });
      await runTask(talk, subject, "plain");
      await subject.pause(200);
      const extra = talk.rest.filter((message) => "log" in message || "heartbeat" in message);
      assert.deepEqual(extra, [], "it sent messages that were not agreed on");
    },
  },
  {
    name: "ids",
    title: "the id of a task and of an evaluation comes back in the answer",
    needs: "ids",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject, ["ids"]);
      talk.say({ cmd: "run_task", id: 71, input: taskInput(subject, "ids") });
      assert.equal((await takeTask(talk, "ids#1"))["id"], 71, "the answer to the task has another id");
      const [evaluator] = subject.discovered.evaluators;
      if (evaluator === undefined) return;
      const input = evalInput(subject, "ids", subject.expected ?? null);
      talk.say({ cmd: "run_eval", id: 72, input, evaluators: [evaluator] });
      assert.equal((await takeEval(talk, evaluator, "ids#1"))["id"], 72, "the evaluation has another id");
    },
  },
  {
    name: "ids-error",
    title: "the answer to a command that is not known has its id",
    needs: "ids",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject, ["ids"]);
      talk.say({ cmd: "no_such_command", id: 73 });
      const answer = await talk.take("an answer with an error", (message) => Boolean(message["error"]));
      assert.equal(answer["id"], 73, "the answer has another id");
    },
  },
  {
    name: "cancel",
    title: "a task that is cancelled is answered once, and cancelling what is not there harms nothing",
    needs: "cancel",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject, ["ids", "cancel"]);
      talk.say({ cmd: "cancel", id: 999 });
      talk.say({ cmd: "run_task", id: 74, input: taskInput(subject, "cancel") });
      talk.say({ cmd: "cancel", id: 74 });
      const { id } = await takeTask(talk, "cancel#1");
      assert.equal(id, 74, "the answer has another id");
      talk.say({ cmd: "cancel", id: 74 });
      await shutDown(talk);
    },
  },
  {
    name: "log",
    title: "what is printed comes as log messages of its run",
    needs: "log",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject, ["ids", "log"]);
      talk.say({ cmd: "run_task", id: 75, input: taskInput(subject, "log") });
      await takeTask(talk, "log#1");
      const logs = talk.rest.filter((message) => "log" in message);
      if (logs.length === 0) throw new NotChecked("the task prints nothing on this input");
      for (const message of logs) {
        const { log } = check("log-message", message);
        const { run_id: runId } = log as { readonly run_id: string | null };
        assert.ok(runId === null || runId === "log#1", `a log message is about ${text(runId)}`);
      }
    },
  },
  {
    name: "heartbeat",
    title: "heartbeats come as often as was asked",
    needs: "heartbeat",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject, ["ids", "heartbeat"], { heartbeat_ms: 20 });
      for (const which of ["a first heartbeat", "a second heartbeat"])
        check("heartbeat-message", await talk.take(which, (message) => "heartbeat" in message));
      await shutDown(talk);
    },
  },
  {
    name: "aggregate",
    title: "an evaluator of the whole run reads the results and answers with its name and id",
    needs: "aggregate",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject, ["ids", "aggregate"]);
      const { aggregates = [], evaluators, params } = subject.discovered;
      const results_path = await subject.writeFile(resultLines(evaluators));
      for (const [n, aggregate] of aggregates.entries()) {
        talk.say({ cmd: "run_aggregate", id: n + 1, aggregate, input: { results_path, params } });
        const answer = await talk.take(
          `the answer of the aggregate "${aggregate}"`,
          (one) => one["aggregate"] === aggregate,
        );
        check("aggregate-answer", answer);
        assert.equal(answer["id"], n + 1, "the answer has another id");
        assert.ok(!answer["error"], `"${aggregate}" failed: ${text(answer["error"])}`);
      }
      talk.say({ cmd: "run_aggregate", id: 76, aggregate: "no-such-aggregate", input: { results_path, params } });
      const unknown = await talk.take("an answer to an aggregate that is not there", (one) => one["id"] === 76);
      assert.ok(unknown["error"], "an aggregate that is not there has no error");
      await shutDown(talk);
    },
  },
  {
    name: "unknown-capability",
    title: "capabilities that the executor does not know are passed over",
    async run(subject) {
      if (subject.capabilities.length === 0) throw new NotOffered("it names no capabilities");
      const talk = subject.open();
      talk.say({ cmd: "discover", capabilities: [...capabilities, "no-such-capability"] });
      const answer = check("discover-answer", await talk.take("the answer to discover", (one) => "evaluators" in one));
      const named = (answer["capabilities"] ?? []) as readonly string[];
      assert.ok(!named.includes("no-such-capability"), "it claims to understand what nobody knows");
    },
  },
];

/** Two runs that every evaluator marked, and one that failed. */
function resultLines(evaluators: readonly string[]): string {
  const line = (id: string, more: object): string =>
    `${JSON.stringify({ run_id: `${id}#1`, repetition_number: 1, example: { id, input: 1, output: 1, metadata: {} }, metadata: {}, ...more })}\n`;
  const marks = (score: number): object[] =>
    evaluators.map((evaluator) => ({ evaluator, score, label: null, explanation: null, metadata: {}, error: null }));
  return (
    line("a", { actual_output: 1, error: null, evaluations: marks(1) }) +
    line("b", { actual_output: 0, error: null, evaluations: marks(0) }) +
    line("c", { actual_output: null, error: "it failed", evaluations: [] })
  );
}
