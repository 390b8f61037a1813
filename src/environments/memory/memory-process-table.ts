import { RolloutError } from "../../base/rollout-error.ts";
import type { ExecResult, ProcessInfo } from "../environment.ts";

/** How a process was ended from outside: as if by a signal, or with the error that its owner shall see. */
export type MemoryEnd = { readonly result: ExecResult } | { readonly error: unknown };

/** A process as long as it runs. */
export interface MemoryTask extends ProcessInfo {
  /** Shared by a command and everything it left behind. */
  readonly group: number;
  readonly signal: AbortSignal;
  /** Settles only when it is ended from outside. */
  readonly ended: Promise<MemoryEnd>;
}

interface Row {
  readonly task: MemoryTask;
  readonly end: (end: MemoryEnd) => void;
}

/** What runs in a memory environment beside its main process. */
export class MemoryProcessTable {
  readonly #rows = new Map<number, Row>();
  // 1 is the environment's own main process.
  #lastPid = 1;
  #frozen = false;

  /** Starts a process; one without a group begins its own. */
  start(command: string, group?: number): MemoryTask {
    const pid = ++this.#lastPid;
    const controller = new AbortController();
    const { promise: ended, resolve } = Promise.withResolvers<MemoryEnd>();
    const end = (how: MemoryEnd): void => {
      resolve(how);
      controller.abort("error" in how ? how.error : new RolloutError("exec_failed", `"${command}" was killed`));
    };
    const task = { pid, command, group: group ?? pid, signal: controller.signal, ended };
    this.#rows.set(pid, { task, end });
    return task;
  }

  /** Takes a process off that ended by itself. */
  remove(pid: number): void {
    this.#rows.delete(pid);
  }

  list(): ProcessInfo[] {
    return [...this.#rows.values()].map(({ task }) => ({ pid: task.pid, command: task.command }));
  }

  /** Ends every process, or those of one group. */
  kill(end: MemoryEnd, group?: number): void {
    for (const { task, end: finish } of this.#rows.values()) {
      if (group !== undefined && task.group !== group) continue;
      this.#rows.delete(task.pid);
      finish(end);
    }
  }

  /** Whether anything of a group can still act. */
  isAlive(group: number): boolean {
    return !this.#frozen && [...this.#rows.values()].some(({ task }) => task.group === group);
  }

  freeze(): void {
    this.#frozen = true;
  }

  get frozen(): boolean {
    return this.#frozen;
  }
}
