import { spawn, type ChildProcess } from "node:child_process";
import type { Duplex } from "node:stream";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import { writeIdMap, type IdMap } from "./id-map.ts";

// It waits on descriptor 3 until the ids are in place; without them it could become nobody.
const waitAndBecome = 'echo waiting >&3; read -r _ <&3; exec setpriv --pdeathsig KILL "$@"';

export interface MappedProcessOptions {
  readonly idMap: IdMap;
  readonly cwd: string;
  readonly path: string;
  readonly stdin: "ignore" | "pipe";
  /** Ignored when absent. */
  readonly stdout?: "ignore" | "pipe" | undefined;
  /** Shell text that it runs first, still with the rights of the caller. */
  readonly prelude?: string | undefined;
  /** Done while it starts; the command does not begin before. */
  readonly meanwhile?: (() => void) | undefined;
  readonly signal: AbortSignal;
}

/** A process that is root of a user namespace of its own and dies with us. */
export interface MappedProcess {
  readonly child: ChildProcess;
  /** Descriptor 3 of the process. */
  readonly channel: Duplex;
  /** What it wrote to its standard error so far. */
  readonly complaint: () => string;
}

/** Starts a command as root of a new user namespace. */
export async function startMapped(argv: readonly string[], options: MappedProcessOptions): Promise<MappedProcess> {
  const { idMap, signal } = options;
  signal.throwIfAborted();
  const become = idMap.kind === "single" ? [] : ["--reuid", "0", "--regid", "0", "--clear-groups"];
  const script = (options.prelude ?? "") + waitAndBecome;
  const args = ["-U", "--keep-caps", "--", "bash", "--norc", "-p", "-c", script, "bash", ...become, "--", ...argv];
  const child = spawn("unshare", args, {
    cwd: options.cwd,
    env: { PATH: options.path },
    stdio: [options.stdin, options.stdout ?? "ignore", "pipe", "pipe"],
    detached: true,
  });
  let complaint = "";
  child.stderr?.on("data", (chunk: Buffer) => (complaint = (complaint + chunk.toString("utf8")).slice(-4000)));
  const channel = child.stdio[3] as Duplex;
  // It breaks when the process ends, which is told by its exit.
  channel.on("error", () => {});
  try {
    const waiting = waitForLine(child, channel, () => complaint, signal);
    waiting.catch(() => {});
    options.meanwhile?.();
    await waiting;
    const pid = child.pid ?? 0;
    await writeIdMap(pid, idMap, signal);
    channel.write("\n");
    return { child, channel, complaint: () => complaint };
  } catch (error) {
    abandon(child, channel);
    if (signal.aborted) throw signal.reason;
    if (error instanceof RolloutError) throw error;
    throw new RolloutError("environment_start_failed", `no ids for a user namespace: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

/** Ends a process that is not wanted any more, and what it may have just started: that does not die with it yet. */
export function abandon(child: ChildProcess, channel: Duplex): void {
  child.kill("SIGKILL");
  channel.destroy();
}

/** The next line that a process writes to its channel; rejects when the process ends before. */
export function waitForLine(
  child: ChildProcess,
  channel: Duplex,
  complaint: () => string,
  signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const settle = (finish: () => void): void => {
      channel.off("data", onData);
      child.off("close", onClose);
      child.off("error", onError);
      signal.removeEventListener("abort", onAbort);
      finish();
    };
    const onData = (chunk: Buffer): void => {
      text += chunk.toString("utf8");
      if (text.includes("\n")) settle(() => resolve(text.slice(0, text.indexOf("\n"))));
    };
    const onClose = (): void =>
      settle(() => reject(new RolloutError("environment_start_failed", complaint().trim() || "it ended at once")));
    const onError = (error: Error): void =>
      settle(() => reject(new RolloutError("environment_start_failed", messageOf(error), { cause: error })));
    const onAbort = (): void => settle(() => reject(signal.reason as Error));
    channel.on("data", onData);
    child.once("close", onClose);
    child.once("error", onError);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}

/** How a process ended, its reason instead of its exit code when it never started. */
export function waitForExit(child: ChildProcess): Promise<number | NodeJS.Signals> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) resolve(child.exitCode);
    else if (child.signalCode !== null) resolve(child.signalCode);
    else {
      child.once("exit", (code, killer) => resolve(code ?? killer ?? 1));
      child.once("error", () => resolve(127));
    }
  });
}
