import { spawn } from "node:child_process";
import type { ConformanceSubject } from "./conformance-case.ts";
import { within } from "./run-command.ts";

/** Enters a kept environment and types a script into its shell. */
export async function runEntrance(
  subject: ConformanceSubject,
  id: string,
  script: string,
): Promise<{ readonly exitCode: number | null; readonly stdout: string }> {
  return within(subject, "the shell in the kept environment never ends", async (signal) => {
    await using entrance = await subject.provider.enter({ id, isTerminal: false, signal });
    const [file = "", ...args] = entrance.command;
    const child = spawn(file, args, { env: entrance.env, stdio: ["pipe", "pipe", "ignore"], signal });
    let stdout = "";
    child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString("utf8")));
    child.stdin.end(script);
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", resolve);
    });
    return { exitCode, stdout };
  });
}
