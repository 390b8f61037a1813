import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Readable } from "node:stream";
import type { ExecRequest, ExecResult, OutputSink } from "../../../src/environments/environment.ts";
import type { Defect } from "./defect.ts";
import { markName, signalMarked } from "./marked-processes.ts";

const quietMs = 100;

interface HostCommand {
  readonly mark: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly defects: ReadonlySet<Defect>;
}

/** Runs a command as a process of this machine and ends everything it started when it is aborted. */
export async function runHostCommand(
  { mark, cwd, env, defects }: HostCommand,
  request: ExecRequest,
): Promise<ExecResult> {
  const [file = "", ...args] = request.command;
  const child = spawn(file, args, {
    cwd,
    env: { ...env, [markName]: mark },
    stdio: [defects.has("keeps stdin open") ? "pipe" : "ignore", "pipe", "pipe"],
    ...identityOf(request.user),
  });
  const ended = waitForEnd(child);
  const streams = [
    startPump(child.stdout, request.stdout, defects.has("reads output eagerly")),
    startPump(child.stderr, defects.has("merges the streams") ? request.stdout : request.stderr, false),
  ];
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => {});
  const onAbort = async (): Promise<void> => {
    if (defects.has("kills only the direct child")) child.kill("SIGKILL");
    else await signalMarked(mark, "SIGKILL", () => true);
    aborted.reject(request.signal.reason);
  };
  const listener = () => void onAbort().catch((error: unknown) => aborted.reject(error));
  request.signal.addEventListener("abort", listener, { once: true });
  try {
    const result = await Promise.race([ended, aborted.promise]);
    if (request.signal.aborted) await aborted.promise;
    const patience = defects.has("waits for daemons") ? Number.POSITIVE_INFINITY : quietMs;
    await Promise.race([Promise.all(streams.map((stream) => stream.finish(patience))), aborted.promise]);
    return result;
  } finally {
    request.signal.removeEventListener("abort", listener);
    child.stdin?.destroy();
    for (const stream of streams) stream.cut();
  }
}

function waitForEnd(child: ChildProcess): Promise<ExecResult> {
  return new Promise((resolve) => {
    child.once("error", () => resolve({ exitCode: 127, signal: null, outOfMemory: false }));
    child.once("exit", (exitCode, signal) => resolve({ exitCode, signal, outOfMemory: false }));
  });
}

function startPump(stream: Readable | null, sink: OutputSink, eager: boolean) {
  const state = { idleSince: performance.now(), busy: false, over: stream === null };
  const pump = async (): Promise<void> => {
    for await (const chunk of stream ?? []) {
      state.busy = true;
      const taken = sink.write(chunk as Uint8Array);
      if (!eager) await taken;
      state.busy = false;
      state.idleSince = performance.now();
    }
    state.over = true;
  };
  // A stream that we cut off ends its loop with an error.
  const running = pump().catch(() => {});
  return {
    // A daemon may hold the pipe open for ever: a quiet one has nothing of the command left.
    async finish(patienceMs: number): Promise<void> {
      state.idleSince = performance.now();
      while (!state.over && (state.busy || performance.now() - state.idleSince < patienceMs)) {
        await Promise.race([running, new Promise((resolve) => setTimeout(resolve, 10))]);
      }
    },
    cut: () => void stream?.destroy(),
  };
}

function identityOf(user: string | undefined): { uid?: number; gid?: number } {
  if (user === undefined) return {};
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((entry) => entry.startsWith(`${user}:`));
  const [, , uid, gid] = line?.split(":") ?? [];
  return { uid: Number(uid), gid: Number(gid) };
}
