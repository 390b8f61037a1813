// An executor of the basic protocol and nothing else; with MARKED it marks its answers and takes one evaluator at a time.
import { createInterface } from "node:readline";

const mark = process.env.MARKED ? { __cat__: 1 } : {};
const say = (message) => process.stdout.write(`${JSON.stringify({ ...mark, ...message })}\n`);

for await (const line of createInterface({ input: process.stdin })) {
  const { cmd, input, evaluator, evaluators } = JSON.parse(line);
  if (cmd === "discover")
    say({ protocol_version: "1.0", name: "double", task: "t", evaluators: ["right", "small"], params: { factor: 2 } });
  if (cmd === "init") say({ ok: true });
  if (cmd === "run_task" && typeof input.input !== "number") say({ run_id: input.run_id, error: "no number" });
  else if (cmd === "run_task") say({ run_id: input.run_id, output: input.params.factor * input.input });
  if (cmd === "run_eval") {
    const names = process.env.MARKED ? [evaluator ?? ""] : evaluators;
    for (const name of names) {
      const isRight = name === "right" ? input.actual_output === input.expected_output : input.actual_output < 5;
      say({ run_id: input.example.run_id, evaluator: name, score: isRight ? 1 : 0 });
    }
  }
  if (cmd === "shutdown") {
    say({ ok: true });
    break;
  }
}
process.stdin.destroy();
