import { randomUUID } from "node:crypto";
import { RolloutError } from "../../../base/rollout-error.ts";
import { startDeadline } from "../../../engine/deadline.ts";
import type { ExecRequest, ProcessInfo } from "../../environment.ts";
import { planEndCommand } from "../../guest/end-processes.ts";
import { encodeWords } from "./encode-words.ts";
import { listProcesses } from "./list-processes.ts";
import type { PodShell } from "./pod-shell.ts";
import { SupervisedCommand, type CommandEnd, type CommandFiles } from "./supervised-command.ts";

const endMs = 60_000;
const settleMs = 5000;

/** Where the plumbing of commands lies in a Pod. */
export const plumbingPath = "/run/rollout";

// Whoever has this file starts the command: one that is still on its way, or has files to place, is not started any more.
const fence = `{ mkdir -p "\${1%/*}"; set -C; true > "$1.own"; set +C; } 2>/dev/null; shift; exec "$@"`;

function stemOf(mark: string): string {
  return `${plumbingPath}/${mark}`;
}

/** Runs commands in one Pod and ends what they started. */
export class PodCommands {
  readonly #shell: PodShell;
  readonly #marks = new Set<string>();
  /** How many commands were begun, and how many of them had been when nothing was found to run. */
  #begun = 0;
  #begunAtQuiet = 0;

  readonly #pids: number | undefined;

  /** `pids` is how many processes the Pod may have while a command runs. */
  constructor(shell: PodShell, pids?: number) {
    this.#shell = shell;
    this.#pids = pids;
  }

  /** True when nothing runs beside the main process: no command was begun since that was seen. */
  get areOver(): boolean {
    return this.#marks.size === 0 && this.#begunAtQuiet === this.#begun;
  }

  /** Runs a command to its end. When the signal is aborted, all that it started is ended and the reason thrown. */
  async run(request: ExecRequest): Promise<CommandEnd>;
  /** The same with files that are placed before; nothing was started when the Pod did not take them. */
  async run(request: ExecRequest, files: CommandFiles): Promise<CommandEnd | "unplaced">;
  async run(request: ExecRequest, files?: CommandFiles): Promise<CommandEnd | "unplaced"> {
    const { signal, command, env, cwd = "", stdout, stderr } = request;
    signal.throwIfAborted();
    if (command.length === 0) throw new RolloutError("exec_failed", "there is no command to run");
    const mark = randomUUID();
    const endMark = `\u0001\u0002${randomUUID()}`;
    const words = encodeWords({ command, env, cwd, mark, endMark });
    const supervised = new SupervisedCommand(this.#shell, {
      stem: stemOf(mark),
      words,
      files,
      endMark,
      pids: this.#pids,
      stdout,
      stderr,
    });
    this.#marks.add(mark);
    const begun = ++this.#begun;
    try {
      const ended = await this.#untilAborted(supervised, mark, signal);
      if (supervised.hasLeftNothing && this.#marks.size === 1 && this.#begun === begun) this.#begunAtQuiet = begun;
      return ended;
    } finally {
      this.#marks.delete(mark);
    }
  }

  /** Everything that runs beside the main process; a Pod that is known to be still is not asked. */
  async list(signal: AbortSignal): Promise<readonly ProcessInfo[]> {
    // What looks like our own is not listed, so that an empty list does not show that nothing runs.
    return this.#areSeenOver() ? [] : listProcesses(this.#shell, signal);
  }

  /** Ends everything beside the main process; false when something withstood it. */
  async endAll(signal: AbortSignal): Promise<boolean> {
    if (this.#areSeenOver()) return true;
    // A command that runs already may start something after the look.
    const begun = this.#marks.size === 0 ? this.#begun : null;
    const command = planEndCommand({ mark: "", isAlone: true, since: "" });
    const { exitCode } = await this.#shell.runTool({ command, isAlone: true, signal });
    if (exitCode === 0 && begun !== null) this.#begunAtQuiet = begun;
    return exitCode === 0;
  }

  // In a Pod where nothing runs, nothing can begin to but by a command; one that has ended itself has to say so.
  #areSeenOver(): boolean {
    return this.#begun > 0 && this.areOver && !this.#shell.options.life.isOver;
  }

  async #untilAborted(
    supervised: SupervisedCommand,
    mark: string,
    signal: AbortSignal,
  ): Promise<CommandEnd | "unplaced"> {
    const { clock } = this.#shell.options;
    const cut = new AbortController();
    const delivery = supervised.follow(cut.signal);
    delivery.catch(() => {});
    const aborted = Promise.withResolvers<null>();
    const onAbort = (): void => aborted.resolve(null);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      const ended = await Promise.race([delivery, aborted.promise]);
      if (ended !== null) return ended;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
    await this.#end(mark);
    const late = Promise.withResolvers<"late">();
    const timer = clock.startTimer(settleMs, () => late.resolve("late"));
    const first = await Promise.race([delivery.catch(() => null), late.promise]);
    timer.clear();
    // It was about to start when we looked.
    if (first === "late") await this.#end(mark);
    cut.abort(signal.reason);
    await delivery.catch(() => {});
    throw signal.reason;
  }

  // What cannot be ended stays the business of whoever owns the Pod: it can only be removed whole.
  async #end(mark: string): Promise<void> {
    const { clock } = this.#shell.options;
    using deadline = startDeadline({ clock, limitMs: endMs, parent: null, what: "ending processes" });
    const isAlone = this.#marks.size === 1;
    const end = planEndCommand({ mark, isAlone, since: "" });
    const command = ["bash", "-p", "-c", fence, "bash", stemOf(mark), ...end];
    await this.#shell.runTool({ command, isAlone: true, signal: deadline.signal }).catch(() => {});
  }
}
