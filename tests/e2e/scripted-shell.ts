// Answers `bash FILE` with a few words of its own, so that a test says in the job file what an agent or a verifier does.
import { existsSync, writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { MemoryCall, MemoryHandler } from "rollout-eval/testing";

type Word = (call: MemoryCall, rest: string) => Promise<number | void> | number | void;

const megabyte = 1 << 20;

const words: Readonly<Record<string, Word>> = {
  echo: (call, text) => call.stdout(`${text}\n`),
  complain: (call, text) => call.stderr(`${text}\n`),
  /** Prints text with JSON escapes: `print-raw \u001b[31m`. */
  "print-raw": (call, text) => call.stdout(`${JSON.parse(`"${text}"`)}\n`),
  "print-env": (call, name) => call.stdout(`${name}=${call.env[name] ?? ""}\n`),
  reward: (call, text) => call.files.write("/logs/verifier/reward.txt", `${text}\n`),
  exit: (_call, code) => Number(code),
  /** `write FILE TEXT`, inside the environment; `$NAME` stands for a variable. */
  write(call, rest) {
    const [file = "", ...text] = rest.split(" ");
    const value = text.join(" ").replace(/\$(\w+)/g, (_, name: string) => call.env[name] ?? "");
    call.files.write(file, `${value}\n`);
  },
  /** Makes a file of the host, for a test that waits for it, with the id of the process that runs the job. */
  tell: (_call, file) => writeFileSync(file, String(process.pid)),
  /** Waits for a file of the host, or for its own end. */
  async "wait-for"(call, file) {
    while (!existsSync(file)) await sleep(10, undefined, { signal: call.signal });
  },
  wait: (call) => sleep(600_000, undefined, { signal: call.signal }),
  /** Waits for its end and then does not go, as a program that ignores every signal. */
  stay: () => sleep(600_000),
  async flood(call, megabytes) {
    const chunk = Buffer.alloc(megabyte, "flood flood flood\n");
    for (let i = 0; i < Number(megabytes); i++) await call.stdout(chunk);
  },
};

/** Runs the lines of a script one after the other. */
export const handler: MemoryHandler = async (call) => {
  const [shell, script = ""] = call.command;
  if (shell !== "bash" || !call.files.exists(script)) return 127;
  for (const line of call.files.readText(script).split("\n")) {
    if (line.trim() === "") continue;
    const [name = ""] = line.split(" ", 1);
    const word = words[name];
    if (!word) throw new Error(`the scripted shell has no word "${name}"`);
    const code = await word(call, line.slice(name.length + 1));
    if (typeof code === "number") return code;
  }
  return 0;
};
