import { spawn, type ChildProcess } from "node:child_process";
import type { Clock } from "../../../base/clock.ts";
import type { Host } from "../../../base/host.ts";
import { messageOf, RolloutError, systemCodeOf } from "../../../base/rollout-error.ts";
import { buildGitEnv, gitSettings } from "./git-env.ts";

/** What every git call needs to know of the world around it. */
export interface GitContext {
  readonly host: Host;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** How long git may say nothing before the other side is taken for dead. */
  readonly stallMs: number;
}

export interface GitCommand {
  readonly args: readonly string[];
  readonly cwd?: string | undefined;
  readonly stdin?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** How a git process ended. */
export interface GitOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  /** The last part of it. */
  readonly stderr: string;
  /** It was ended because nothing was heard for too long. */
  readonly isStalled: boolean;
}

const longestStdoutBytes = 256 * 2 ** 20;
const longestStderrChars = 16_384;
const killAfterMs = 3_000;

/** Runs git without prompts, hooks or foreign settings; a non-zero exit is a result, a missing git rejects with `git_failed`. */
export async function runGit(command: GitCommand, context: GitContext): Promise<GitOutcome> {
  const { host, signal } = context;
  signal.throwIfAborted();
  const child = spawn("git", [...gitSettings, ...command.args], {
    cwd: command.cwd ?? "/",
    env: { ...buildGitEnv(host.env), ...command.env },
    // A group of its own has no terminal to ask at, and can be ended whole.
    detached: true,
    stdio: ["pipe", "pipe", "pipe"],
  });
  const outcome = await collect(child, command.stdin ?? "", context);
  if (signal.aborted) throw signal.reason;
  return outcome;
}

function collect(child: ChildProcess, stdin: string, context: GitContext): Promise<GitOutcome> {
  const { clock, signal, stallMs } = context;
  return new Promise((resolve, reject) => {
    const stdout: Buffer[] = [];
    let stdoutBytes = 0;
    let stderr = "";
    let isStalled = false;
    let killTimer = { clear: () => {} };
    const stop = (): void => {
      endGroup(child, "SIGTERM");
      killTimer.clear();
      killTimer = clock.startTimer(killAfterMs, () => endGroup(child, "SIGKILL"));
    };
    const watch = () =>
      clock.startTimer(stallMs, () => {
        isStalled = true;
        stop();
      });
    let stallTimer = watch();
    const heard = (): void => {
      stallTimer.clear();
      if (!isStalled) stallTimer = watch();
    };
    const settle = (): void => {
      stallTimer.clear();
      killTimer.clear();
      signal.removeEventListener("abort", stop);
    };
    signal.addEventListener("abort", stop, { once: true });
    child.stdout?.on("data", (chunk: Buffer) => {
      heard();
      stdoutBytes += chunk.length;
      if (stdoutBytes <= longestStdoutBytes) stdout.push(chunk);
      else stop();
    });
    child.stderr?.on("data", (chunk: Buffer) => {
      heard();
      stderr = (stderr + chunk.toString("utf8")).slice(-longestStderrChars);
    });
    child.on("error", (error) => {
      settle();
      reject(toSpawnError(error));
    });
    child.on("close", (code) => {
      settle();
      resolve({ exitCode: code ?? 128, stdout: Buffer.concat(stdout).toString("utf8"), stderr, isStalled });
    });
    // A git that ends before it has read everything is told by its exit code.
    child.stdin?.on("error", () => {});
    child.stdin?.end(stdin);
  });
}

function endGroup(child: ChildProcess, name: "SIGTERM" | "SIGKILL"): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, name);
  } catch (error) {
    if (systemCodeOf(error) !== "ESRCH") throw error;
  }
}

function toSpawnError(error: Error): RolloutError {
  const isMissing = systemCodeOf(error) === "ENOENT";
  return new RolloutError(
    "git_failed",
    isMissing ? "git was not found" : `git could not be started: ${messageOf(error)}`,
    {
      hint: isMissing ? "install git 2.31 or newer and make sure that it is in PATH" : undefined,
      cause: error,
    },
  );
}
