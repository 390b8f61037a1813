// An executor of the whole protocol, by hand. What it does wrong is the name in ODD: that of the rule it breaks.
import { readFileSync } from "node:fs";

const odd = process.env.ODD ?? "";
let text = "";
let used = [];
let open = 0;
let beat = null;
let isEnding = false;
let turn = Promise.resolve();

process.stdin.setEncoding("utf8").on("data", (chunk) => {
  if (odd === "pieces" && !chunk.endsWith("\n")) return;
  text += chunk;
  for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n")) {
    const line = text.slice(0, end);
    text = text.slice(end + 1);
    if (line.trim() === "") continue;
    if (odd === "long-line" && line.length > 65_536) continue;
    hear(line);
  }
});
process.stdin.on("end", () => {
  if (odd !== "end-of-input") finish();
  else setInterval(() => {}, 1000);
});

function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function hear(line) {
  let command;
  try {
    command = JSON.parse(line);
    if (typeof command !== "object" || command === null || Array.isArray(command)) throw new Error("no object");
  } catch (error) {
    if (odd === "invalid-line") process.exit(1);
    return say({ error: `no command: ${error.message}` });
  }
  const { cmd, input } = command;
  const head = used.includes("ids") && command.id !== undefined && odd !== "ids" ? { id: command.id } : {};
  if (cmd === "discover") return discover(command);
  if (cmd === "init") return init(command);
  if (cmd === "shutdown") {
    if (odd === "shutdown-waits") {
      say({ ok: true });
      return process.exit(0);
    }
    isEnding = odd !== "shutdown";
    return settle();
  }
  if (cmd === "cancel") return odd === "cancel" ? say({ id: command.id, error: "cancelled" }) : undefined;
  if (!["run_task", "run_eval", "run_aggregate"].includes(cmd)) {
    const whose = odd === "ids-error" ? {} : head;
    return odd === "unknown-command" ? undefined : say({ ...whose, error: `unknown command ${cmd}` });
  }
  if (input === undefined) return odd === "no-input" ? undefined : say({ ...head, error: "input is missing" });
  open++;
  const work = () => {
    open--;
    if (cmd === "run_task") runTask(input, head);
    else if (cmd === "run_eval") runEval(command, head);
    else runAggregate(command, head);
    settle();
  };
  const wait = () => new Promise((resolve) => setTimeout(resolve, input.input === 100 ? 2000 : 5));
  if (odd !== "concurrent") return wait().then(work);
  return (turn = turn.then(wait).then(work));
}

function discover({ capabilities }) {
  if (odd === "discover") return say({ name: "odd" });
  if (odd === "discover-error") return say({ error: "the task is missing" });
  const extras =
    capabilities === undefined
      ? {}
      : {
          aggregates: ["count"],
          capabilities: ["ids", "cancel", "log", "heartbeat", "aggregate"].concat(
            odd === "unknown-capability" ? capabilities : [],
          ),
        };
  say({
    protocol_version: "1.0",
    name: "odd",
    task: "t",
    evaluators: odd === "names" ? ["right", "small", "right"] : ["right", "small"],
    params: { factor: 2 },
    ...extras,
  });
}

function init({ capabilities = [], heartbeat_ms: everyMs }) {
  used = odd === "negotiation" ? ["heartbeat"] : capabilities;
  say(odd === "init" ? { ok: false, error: "not today" } : { ok: true });
  if (used.includes("heartbeat") && everyMs && odd !== "heartbeat")
    beat = setInterval(() => say({ heartbeat: { running: open } }), everyMs);
}

function runTask({ run_id, input, params }, head) {
  if (used.includes("log"))
    say({ log: { run_id: odd === "log" ? "other#1" : run_id, stream: "stdout", text: "hello\n" } });
  const error = input === "bad" && odd !== "task-error" ? "a bad input" : null;
  const known = odd === "run-id" ? run_id.replaceAll(/[^\w#-]/g, "") : odd === "task" ? undefined : run_id;
  const answer = { ...head, run_id: known, output: error === null ? params.factor * input : null, metadata: {}, error };
  say(answer);
  if (odd === "several") say(answer);
  if (odd === "lines") process.stdout.write('{"run_id": "x", "score": NaN}\n');
}

function runEval({ input, evaluators = ["right", "small"] }, head) {
  if (evaluators.length === 2 && odd === "all-evaluators") evaluators = ["right"];
  for (const evaluator of evaluators) {
    const isKnown = ["right", "small"].includes(evaluator);
    if (!isKnown && odd === "unknown-evaluator") return;
    const score = odd === "evaluators" ? "1" : isKnown ? 1 : null;
    const error = isKnown ? null : `unknown evaluator ${evaluator}`;
    const run_id = odd === "eval-null" ? null : (input.run_id ?? input.example.run_id);
    const name = odd === "eval-name" ? evaluator.replace("r", "R") : evaluator;
    say({ ...head, run_id, evaluator: name, score, metadata: {}, error });
  }
}

function runAggregate({ aggregate, input }, head) {
  if (aggregate !== "count") return say({ ...head, error: "unknown aggregate" });
  const score = readFileSync(input.results_path, "utf8").trim().split("\n").length;
  say(odd === "aggregate" ? { ...head, score } : { ...head, aggregate, score, error: null });
}

function settle() {
  if (!isEnding || open > 0) return;
  say({ ok: true });
  finish();
}

function finish() {
  clearInterval(beat);
  process.stdin.destroy();
}
