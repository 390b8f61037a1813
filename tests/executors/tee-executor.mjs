// Stands between an orchestrator and an executor and writes down what each says: node tee-executor.mjs FILE COMMAND…
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , file, program, ...args] = process.argv;
// Without the private channel everything that is said passes here.
const { ROLLOUT_PROTOCOL_FD: _fd, ...env } = process.env;
const child = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"], env });

function pass(from, to, mark) {
  const lines = createInterface({ input: from });
  lines.on("line", (line) => {
    // How many of these come depends on how long the rest takes.
    if (!line.includes('"heartbeat":{')) appendFileSync(file, `${mark} ${line}\n`);
    to.write(`${line}\n`);
  });
  return lines;
}

pass(process.stdin, child.stdin, "->").on("close", () => child.stdin.end());
pass(child.stdout, process.stdout, "<-");
child.on("close", (code) => process.exit(code ?? 1));
