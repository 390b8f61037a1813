import { spawn, type ChildProcessByStdio } from "node:child_process";
import { basename } from "node:path";
import type { Readable, Writable } from "node:stream";
import { RolloutError } from "../../base/rollout-error.ts";
import type { FunctionCall, FunctionTarget } from "./target.ts";

export interface CommandTargetOptions {
  /** A line for the shell, or a program and its arguments. It gets the input on its stdin: text as it is, anything else as JSON. */
  readonly command: string | readonly [string, ...string[]];
  readonly cwd?: string | undefined;
  /** Variables of the command beside those of this process. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** How its stdout is read: `auto` takes it for JSON when it is; `auto` when absent. */
  readonly output?: "auto" | "json" | "text" | undefined;
  /** Output beyond so many bytes fails the item; 16 MiB when absent. */
  readonly maxBytes?: number | undefined;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;
type Env = Readonly<Record<string, string | undefined>>;

const longestQuote = 500;

/** A target that runs a command for each item; what it started ends with it. Any exit code but 0 fails the item. */
export function commandTarget(options: CommandTargetOptions, hostEnv: Env): FunctionTarget {
  const { command, output = "auto", maxBytes = 16 * 1024 * 1024 } = options;
  const words = typeof command === "string" ? ["sh", "-c", command] : [...command];
  if (command.length === 0) throw new RolloutError("config_invalid", "the command is empty");
  const run = async (input: unknown, { signal, itemId, repeat }: FunctionCall): Promise<unknown> => {
    signal.throwIfAborted();
    const child = spawn(words[0] ?? "", words.slice(1), {
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      env: { ...hostEnv, ...options.env, ROLLOUT_ITEM_ID: itemId, ROLLOUT_REPEAT: String(repeat) },
      stdio: ["pipe", "pipe", "pipe"],
      // A group of its own, so that what it started can be ended with it.
      detached: true,
    });
    const text = await collect(child, typeof input === "string" ? input : JSON.stringify(input), maxBytes, signal);
    return output === "text" ? text : readOutput(text, output);
  };
  const first = typeof command === "string" ? (command.trim().split(/\s+/)[0] ?? "") : command[0];
  return Object.defineProperty(run, "name", { value: basename(first) });
}

/** What a process printed when it ended with 0; rejects for any other end. */
function collect(child: Child, input: string, maxBytes: number, signal: AbortSignal): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const out: Buffer[] = [];
  let bytes = 0;
  let complaint = "";
  const giveUp = (thrown: unknown): void => {
    killGroup(child);
    reject(thrown);
  };
  const onAbort = (): void => giveUp(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  child.stdout.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) giveUp(new Error(`it printed more than ${maxBytes} bytes`));
    else out.push(chunk);
  });
  child.stderr.on("data", (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-longestQuote)));
  // A command that does not read its input closes it; that is not the item's failure.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  child.on("error", (error) => giveUp(new Error(`the command cannot be started: ${error.message}`, { cause: error })));
  child.on("exit", () => killGroup(child));
  child.on("close", (code, killedBy) => {
    signal.removeEventListener("abort", onAbort);
    if (code === 0) resolve(Buffer.concat(out).toString());
    else
      reject(
        new Error(`it ended with ${killedBy ?? `exit code ${code}`}${complaint === "" ? "" : `: ${complaint.trim()}`}`),
      );
  });
  return promise;
}

/** Ends a process and all that it started and that stayed in its group. */
function killGroup(child: Child): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // Nothing is left of it.
  }
}

function readOutput(text: string, output: "auto" | "json"): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    if (output === "auto") return text.replace(/\n$/, "");
    throw new Error(`it printed what is no JSON: ${text.slice(0, longestQuote)}`, { cause: thrown });
  }
}
