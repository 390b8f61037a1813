// An executor of nothing but the protocol, in the dialect that marks its answers. It answers tasks with as many bytes as
// BENCH_BYTES says, has as many evaluators as BENCH_EVALUATORS says, and looks into no more than it must.
import { createInterface } from "node:readline";

const payload = JSON.stringify({ answer: "x".repeat(Number(process.env["BENCH_BYTES"] ?? 100)) });
const evaluators = ["a", "b"].slice(0, Number(process.env["BENCH_EVALUATORS"] ?? 2));
const time = '"started_at":"2026-01-01T00:00:00.000Z","completed_at":"2026-01-01T00:00:00.001Z","execution_time_ms":1';
const runIdOf = /"run_id":("(?:[^"\\]|\\.)*")/;
const evaluatorOf = /"evaluator":("(?:[^"\\]|\\.)*")/;
let answers = "";
let isOver = false;

createInterface({ input: process.stdin }).on("line", (line) => {
  // What was asked for in one read is answered in one write.
  if (answers === "") setImmediate(flush);
  answers += `${answerTo(line)}\n`;
});

function answerTo(line: string): string {
  if (line.startsWith('{"cmd":"run_task"'))
    return `{"__cat__":1,"run_id":${runIdOf.exec(line)?.[1]},"output":${payload},"metadata":{${time}}}`;
  if (line.startsWith('{"cmd":"run_eval"')) {
    const evaluator = evaluatorOf.exec(line)?.[1];
    return `{"__cat__":1,"run_id":${runIdOf.exec(line)?.[1]},"evaluator":${evaluator},"score":1,"metadata":{${time}}}`;
  }
  const { cmd } = JSON.parse(line) as { readonly cmd: string };
  if (cmd === "discover")
    return JSON.stringify({ __cat__: 1, protocol_version: "1.0", name: "bench", task: "t", evaluators, params: {} });
  isOver = cmd === "shutdown";
  return '{"__cat__":1,"ok":true}';
}

function flush(): void {
  process.stdout.write(answers, () => isOver && process.exit());
  answers = "";
}
