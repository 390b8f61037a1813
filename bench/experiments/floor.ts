// The floor under an orchestrator: a process that sends lines to `cat` and counts those that come back, so many in flight.
// node floor.ts MESSAGES BYTES IN_FLIGHT
import { spawn } from "node:child_process";

const [messages = 0, bytes = 0, inFlight = 0] = process.argv.slice(2).map(Number);
const line = `${"x".repeat(bytes - 1)}\n`;
// Each line counts twice: once sent, once received.
const total = messages / 2;
const cat = spawn("cat", { stdio: ["pipe", "pipe", "inherit"] });
let sent = Math.min(inFlight, total);
let received = 0;
cat.stdin.write(line.repeat(sent));
cat.stdout.on("data", (chunk: Buffer) => {
  let came = 0;
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) came++;
  received += came;
  const more = Math.min(came, total - sent);
  sent += more;
  if (more > 0) cat.stdin.write(line.repeat(more));
  if (received === total) cat.stdin.end();
});
