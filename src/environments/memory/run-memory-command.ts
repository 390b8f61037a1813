import { posix } from "node:path";
import { messageOf, RolloutError } from "../../base/rollout-error.ts";
import type { ExecRequest, ExecResult, NetworkPolicy, OutputSink } from "../environment.ts";
import type { MemoryFileSystem } from "./memory-file-system.ts";
import type { MemoryCall, MemoryExit, MemoryFiles, MemoryHandler } from "./memory-handler.ts";
import type { MemoryProcessTable, MemoryTask } from "./memory-process-table.ts";

/** The parts of an environment that a command touches. */
export interface MemoryMachine {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly workdir: string;
  readonly files: MemoryFileSystem;
  readonly processes: MemoryProcessTable;
  readonly network: NetworkPolicy;
  readonly handler: MemoryHandler;
}

/** Has the handler answer a command, and ends it at once when it is aborted, killed or loses its environment. */
export async function runMemoryCommand(machine: MemoryMachine, request: ExecRequest): Promise<ExecResult> {
  const { processes } = machine;
  const task = processes.start(request.command.join(" "));
  const onAbort = (): void => processes.kill({ error: request.signal.reason }, task.group);
  request.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const outcome = await Promise.race([answer(machine, request, task), task.ended]);
    if ("error" in outcome) throw outcome.error;
    return outcome.result;
  } finally {
    request.signal.removeEventListener("abort", onAbort);
    processes.remove(task.pid);
  }
}

async function answer(
  machine: MemoryMachine,
  request: ExecRequest,
  task: MemoryTask,
): Promise<{ result: ExecResult } | { error: unknown }> {
  const isOver = (): boolean => task.signal.aborted || machine.processes.frozen;
  const stdout = startDelivery(request.stdout, isOver);
  const stderr = startDelivery(request.stderr, isOver);
  const cwd = posix.resolve(machine.workdir, request.cwd ?? ".");
  const call: MemoryCall = {
    environmentId: machine.id,
    labels: machine.labels,
    command: request.command,
    env: request.env,
    cwd,
    user: request.user,
    network: machine.network,
    signal: task.signal,
    files: filesOf(machine, task, cwd),
    stdout: (chunk) => stdout.write(chunk),
    stderr: (chunk) => stderr.write(chunk),
    spawn(command) {
      assertAlive(machine.processes, task);
      const { pid, signal } = machine.processes.start(command, task.group);
      return { pid, signal, exit: () => machine.processes.remove(pid) };
    },
  };
  let exit: number | MemoryExit;
  try {
    exit = await machine.handler(call);
  } catch (error) {
    if (error instanceof RolloutError) return { error };
    return { error: new RolloutError("exec_failed", `the handler threw: ${messageOf(error)}`, { cause: error }) };
  }
  await Promise.all([stdout.done(), stderr.done()]);
  // A frozen command never gets to its end.
  if (machine.processes.frozen) return task.ended;
  const given = typeof exit === "number" ? { exitCode: exit } : exit;
  return { result: { signal: null, outOfMemory: false, ...given } };
}

// Chunks reach the sink one after the other, also when the handler does not wait for them.
function startDelivery(sink: OutputSink, isOver: () => boolean) {
  let tail: Promise<void> = Promise.resolve();
  let over = false;
  return {
    write(chunk: string | Uint8Array): Promise<void> {
      const bytes = Buffer.from(chunk);
      const step = tail.then(() => (over || isOver() ? undefined : sink.write(bytes)));
      // A handler may not look at the promise it gets; the failure is told by `done`.
      step.catch(() => {});
      tail = step;
      return step;
    },
    async done(): Promise<void> {
      await tail;
      over = true;
    },
  };
}

function filesOf(machine: MemoryMachine, task: MemoryTask, cwd: string): MemoryFiles {
  const { files } = machine;
  const at = (path: string): string => {
    assertAlive(machine.processes, task);
    return posix.resolve(cwd, path);
  };
  return {
    resolve: (path) => posix.resolve(cwd, path),
    read: (path) => files.read(at(path)),
    readText: (path) => Buffer.from(files.read(at(path))).toString("utf8"),
    write: (path, content, mode) => files.write(at(path), content, mode),
    list: (path) => files.list(at(path)),
    exists: (path) => files.exists(at(path)),
    remove: (path) => files.remove(at(path)),
  };
}

function assertAlive(processes: MemoryProcessTable, task: MemoryTask): void {
  if (!processes.isAlive(task.group))
    throw new RolloutError("environment_lost", `"${task.command}" is no longer running`);
}
