import assert from "node:assert/strict";
import type { JsonObject } from "../../base/json.ts";
import { findDuplicateNames } from "../executor/find-duplicate-names.ts";
import { capabilities, type DiscoverAnswer } from "../protocol.ts";
import {
  check,
  runEval,
  runTask,
  setUp,
  shutDown,
  stillAnswers,
  takeDiscovery,
  takeEval,
  takeTask,
  text,
} from "./ask.ts";
import { evalInput, NotChecked, NotOffered, taskInput, type CheckRule, type CheckSubject } from "./check-rule.ts";

const inFlight = 4;
const stranger = "no-such-evaluator";

/** What every executor has to do. */
export const basicRules: readonly CheckRule[] = [
  {
    name: "discover",
    title: "discover is answered with protocol_version, evaluators and params",
    async run(subject) {
      const talk = subject.open();
      talk.say({ cmd: "discover" });
      await takeDiscovery(talk);
    },
  },
  {
    name: "names",
    title: "each evaluator and each aggregate has a name of its own",
    async run(subject) {
      const talk = subject.open();
      talk.say({ cmd: "discover", capabilities });
      const answer = (await takeDiscovery(talk)) as unknown as DiscoverAnswer;
      assert.deepEqual(
        findDuplicateNames(answer),
        [],
        `the answer to discover: ${findDuplicateNames(answer).join("; ")}`,
      );
    },
  },
  {
    name: "init",
    title: 'init is answered with "ok": true',
    run: (subject) => setUp(subject.open(), subject),
  },
  {
    name: "task",
    title: "a task is answered with its run_id",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject);
      const { error } = await runTask(talk, subject, "task");
      assert.ok(
        !error,
        `the task failed on ${JSON.stringify(subject.input)}, give one that it takes with --input: ${text(error)}`,
      );
    },
  },
  {
    name: "task-error",
    title: "a task that fails is answered with an error, and the next one runs",
    async run(subject) {
      const { badInput } = subject;
      if (badInput === undefined) throw new NotChecked("give an input that the task fails on with --bad-input");
      const talk = subject.open();
      await setUp(talk, subject);
      const { error } = await runTask(talk, subject, "bad", { input: badInput });
      assert.ok(error, "the answer has no error");
      const { error: next } = await runTask(talk, subject, "good");
      assert.ok(!next, `the next task failed too: ${text(next)}`);
    },
  },
  {
    name: "several",
    title: "several tasks in flight are each answered once",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject);
      const ids = Array.from({ length: inFlight }, (_, n) => `several-${n}`);
      for (const id of ids) talk.say({ cmd: "run_task", input: taskInput(subject, id) });
      for (const id of ids) await takeTask(talk, `${id}#1`);
      await shutDown(talk);
    },
  },
  {
    name: "concurrent",
    title: "a slow task does not hold up those behind it",
    async run(subject) {
      const { slowInput } = subject;
      if (slowInput === undefined)
        throw new NotChecked("give an input that the task takes a second or more for with --slow-input");
      const talk = subject.open();
      await setUp(talk, subject);
      const ids = Array.from({ length: inFlight - 1 }, (_, n) => `quick-${n}`);
      talk.say({ cmd: "run_task", input: taskInput(subject, "slow", { input: slowInput }) });
      for (const id of ids) talk.say({ cmd: "run_task", input: taskInput(subject, id) });
      const answered: string[] = [];
      while (answered.length < inFlight)
        answered.push(text((await talk.take("the answer to a task", (one) => "run_id" in one))["run_id"]));
      const place = answered.indexOf("slow#1");
      assert.ok(place >= 0, "the slow task was not answered");
      assert.equal(place, inFlight - 1, `the slow task was answered before ${answered.slice(place + 1).join(", ")}`);
      await shutDown(talk);
    },
  },
  {
    name: "run-id",
    title: "a run_id comes back as it was, whatever is in it",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject);
      await runTask(talk, subject, 'a#b "c" \\ ü 🙂 \u2028 d');
    },
  },
  {
    name: "long-line",
    title: "a command of a million characters is understood",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject);
      await runTask(talk, subject, "long", { metadata: { text: "x".repeat(1_000_000) } });
    },
  },
  {
    name: "pieces",
    title: "a command that arrives in pieces is one command",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject);
      const line = `${JSON.stringify({ cmd: "run_task", input: taskInput(subject, "pieces") })}\n`;
      for (let at = 0; at < line.length; at += 40) {
        talk.sayText(line.slice(at, at + 40));
        await subject.pause(1);
      }
      await takeTask(talk, "pieces#1");
    },
  },
  {
    name: "evaluators",
    title: "each evaluator answers with its name and the run_id of the example",
    async run(subject) {
      const talk = await openWithEvaluators(subject);
      for (const name of subject.discovered.evaluators) {
        const { error } = await runEval(talk, subject, name, subject.expected ?? null);
        assert.ok(!error, `"${name}" failed, give what is expected with --expected: ${text(error)}`);
      }
      await shutDown(talk);
    },
  },
  {
    name: "all-evaluators",
    title: "without names all evaluators answer, once each",
    async run(subject) {
      const talk = await openWithEvaluators(subject);
      talk.say({ cmd: "run_eval", input: evalInput(subject, "all", subject.expected ?? null) });
      if (subject.isMarked)
        await refuseOtherDialect(subject, () => talk.take("an answer", (one) => "evaluator" in one));
      else for (const name of subject.discovered.evaluators) await takeEval(talk, name, "all#1");
    },
  },
  {
    name: "unknown-evaluator",
    title: "an evaluator that is not there is answered with an error",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject);
      const wish = subject.isMarked ? { evaluator: stranger } : { evaluators: [stranger] };
      talk.say({ cmd: "run_eval", input: evalInput(subject, "eval", null), ...wish });
      const answer = await talk.take("an answer with an error", (message) => Boolean(message["error"]));
      assert.ok(!("run_id" in answer) || answer["run_id"] === "eval#1", "the answer is about another run");
      await stillAnswers(talk);
    },
  },
  {
    name: "unknown-command",
    title: "a command that is not known is answered with an error",
    run: (subject) => isRefused(subject, { cmd: "no_such_command" }),
  },
  {
    name: "no-input",
    title: "a task without an input is answered with an error",
    run: (subject) => isRefused(subject, { cmd: "run_task" }),
  },
  {
    name: "invalid-line",
    title: "lines that are no commands are survived",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject);
      for (const line of ["this is no JSON", '{"cmd": "run_task", "input"', "[1, 2]", "null", ""])
        talk.sayText(`${line}\n`);
      await stillAnswers(talk);
      const { error } = await runTask(talk, subject, "after");
      assert.ok(!error, `a task after that failed: ${text(error)}`);
    },
  },
  {
    name: "shutdown",
    title: "shutdown is answered, and the executor ends with exit code 0",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject);
      await shutDown(talk);
      await talk.end();
      assert.equal(talk.exitCode, 0, "the exit code is not 0");
    },
  },
  {
    name: "shutdown-waits",
    title: "shutdown is answered after all that is in flight",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject);
      const ids = Array.from({ length: inFlight }, (_, n) => `last-${n}`);
      for (const id of ids) talk.say({ cmd: "run_task", input: taskInput(subject, id) });
      talk.say({ cmd: "shutdown" });
      const seen: JsonObject[] = [];
      while (seen.length <= inFlight) {
        const message = await talk.take("an answer to a task or to shutdown", (one) => "run_id" in one || "ok" in one);
        seen.push(message);
        if ("ok" in message) break;
      }
      const missing = ids.filter((id) => !seen.some((message) => message["run_id"] === `${id}#1`));
      assert.deepEqual(missing, [], "there are tasks without an answer when shutdown is answered");
      await talk.end();
    },
  },
  {
    name: "end-of-input",
    title: "the end of input ends the executor",
    async run(subject) {
      const talk = subject.open();
      await setUp(talk, subject);
      talk.endInput();
      await talk.end();
    },
  },
];

/** A command that is answered with an error, and harms nothing. */
async function isRefused(subject: CheckSubject, command: JsonObject): Promise<void> {
  const talk = subject.open();
  await setUp(talk, subject);
  talk.say(command);
  await talk.take("an answer with an error", (message) => Boolean(message["error"]));
  await stillAnswers(talk);
}

async function openWithEvaluators(subject: CheckSubject): Promise<ReturnType<CheckSubject["open"]>> {
  if (subject.discovered.evaluators.length === 0) throw new NotOffered("the experiment has no evaluators");
  const talk = subject.open();
  await setUp(talk, subject);
  return talk;
}

/** Some of those that mark their answers know only one evaluator at a time, and say so. */
async function refuseOtherDialect(subject: CheckSubject, take: () => Promise<JsonObject>): Promise<void> {
  const seen: JsonObject[] = [];
  for (const _name of subject.discovered.evaluators) {
    const answer = await take();
    if (answer["evaluator"] === "" && answer["error"]) throw new NotOffered("it takes one evaluator at a time");
    seen.push(check("eval-answer", answer));
  }
  const names = seen.map((answer) => text(answer["evaluator"]));
  assert.deepEqual(names.toSorted(), subject.discovered.evaluators.toSorted(), "other evaluators answered");
}
