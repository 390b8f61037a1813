import { spawn } from "node:child_process";
import { once } from "node:events";

export interface Drive {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly tasks: number;
  readonly inFlight: number;
}

/** Tasks per second of an executor whose driver does next to nothing: as many new ones as came back, in one write. */
export async function driveExecutor({ command, env, tasks, inFlight }: Drive): Promise<number> {
  const [program = "", ...args] = command;
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "ignore"] });
  const ended = once(child, "exit");
  const lines = Array.from({ length: tasks }, (_, n) => taskLine(n));
  const answers = countLines(child.stdout);
  for (const command of [{ cmd: "discover" }, { cmd: "init", max_workers: inFlight, params: {} }]) {
    child.stdin.write(`${JSON.stringify(command)}\n`);
    if ((await answers.next()).done === true) throw new Error(`${program} ended before it was set up`);
  }
  const from = performance.now();
  let sent = Math.min(inFlight, tasks);
  let received = 0;
  child.stdin.write(lines.slice(0, sent).join(""));
  while (received < tasks) {
    const { value: came, done } = await answers.next();
    if (done === true) throw new Error(`${program} ended after ${received} tasks`);
    received += came;
    child.stdin.write(lines.slice(sent, sent + came).join(""));
    sent += came;
  }
  const seconds = (performance.now() - from) / 1000;
  child.stdin.end('{"cmd":"shutdown"}\n');
  await ended;
  return tasks / seconds;
}

async function* countLines(stream: AsyncIterable<Buffer>): AsyncGenerator<number, void> {
  for await (const chunk of stream) {
    let count = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) count++;
    if (count > 0) yield count;
  }
}

function taskLine(n: number): string {
  const input = { id: `e${n}`, input: { q: "what is it?" }, output: {}, metadata: {}, run_id: `e${n}#1` };
  return `${JSON.stringify({ cmd: "run_task", input: { ...input, repetition_number: 1, params: {} } })}\n`;
}
