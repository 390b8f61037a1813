import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { shownPath } from "../../base/shown-path.ts";
import { chooseCommand } from "../../experiments/executor/choose-command.ts";
import type { ExecutorNote } from "../../experiments/executor/executor-voice.ts";
import { defaultLimits } from "../../experiments/executor/start-request.ts";
import { SubprocessExecutor, type ExecutorSetup } from "../../experiments/executor/subprocess-executor.ts";
import type { CliContext } from "../cli-context.ts";
import type { RunReporter } from "../run-reporter.ts";
import type { ExecutorOptions } from "./run-experiment-file.ts";

export interface BeginExecutorRequest {
  /** The experiment file, as it was typed. */
  readonly path: string;
  /** `executor` is a line for the shell that starts it instead; `quiet` tells nothing of what user code prints. */
  readonly options: Pick<ExecutorOptions, "executor" | "quiet">;
  readonly reporter: RunReporter;
  readonly signal: AbortSignal;
}

/** The executor of an experiment file, whose first process starts while the rest is still looked at; one that is not taken goes when it is disposed. */
export interface BegunExecutor extends AsyncDisposable {
  /** The first process, then others; rejects when it cannot be used. */
  start(setup: ExecutorSetup): Promise<SubprocessExecutor>;
}

/** Starts an executor; what is wrong with it is told when it is taken. */
export function beginExecutor(request: BeginExecutorRequest, context: CliContext): BegunExecutor {
  const unused = new AbortController();
  const signal = AbortSignal.any([request.signal, unused.signal]);
  let first: Promise<SubprocessExecutor> | null = openExecutor({ ...request, signal }, context);
  first.catch(() => {});
  return {
    async start(setup) {
      const opened = first ?? openExecutor(request, context);
      first = null;
      try {
        return await (await opened).setUpOrEnd(setup);
      } catch (error) {
        throw request.options.quiet === true ? error : withoutDetails(error);
      }
    },
    async [Symbol.asyncDispose]() {
      unused.abort();
      await first?.then(
        (executor) => executor[Symbol.asyncDispose](),
        () => {},
      );
    },
  };
}

/** What it wrote to stderr has been told as it came. */
function withoutDetails(error: unknown): unknown {
  if (!(error instanceof RolloutError) || error.details.length === 0) return error;
  const { code, message, hint, transient } = error;
  return new RolloutError(code, message, { hint, transient, cause: error });
}

async function openExecutor(
  { path, options, reporter, signal }: BeginExecutorRequest,
  { host, clock, packageDir }: CliContext,
): Promise<SubprocessExecutor> {
  const file = resolve(host.cwd, path);
  if (!existsSync(file)) throw new RolloutError("not_found", `${shownPath(file, host.cwd)} does not exist`);
  return await SubprocessExecutor.open({
    command: chooseCommand({ file, execPath: host.execPath, packageDir, executor: options.executor }),
    env: host.env,
    cwd: host.cwd,
    limits: defaultLimits,
    clock,
    signal,
    onNote(note) {
      if (note.kind === "output" && options.quiet === true) return;
      // Everything that was cut off is late.
      if (note.kind === "unmatched" && signal.aborted) return;
      tellNote(note, reporter);
    },
  });
}

function tellNote(note: ExecutorNote, { print, say }: RunReporter): void {
  if (note.kind === "output")
    for (const line of note.text.trimEnd().split("\n")) print(note.runId === null ? line : `[${note.runId}] ${line}`);
  else if (note.kind === "unmatched") say(`an answer that nobody waits for (${note.why}): ${note.text}`);
  else say(`the executor sent something that cannot be read: ${note.text}`);
}
