import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import { shownPath } from "../../base/shown-path.ts";
import { chooseCommand } from "../../experiments/executor/choose-command.ts";
import type { ExecutorNote } from "../../experiments/executor/executor-voice.ts";
import { ProblemCounter } from "../../experiments/executor/protocol-problems.ts";
import { defaultLimits } from "../../experiments/executor/start-request.ts";
import { SubprocessExecutor, type ExecutorSetup } from "../../experiments/executor/subprocess-executor.ts";
import type { CliContext } from "../cli-context.ts";
import type { RunReporter } from "../run-reporter.ts";
import type { ExecutorOptions } from "./run-experiment-file.ts";

const maxToldPerKind = 20;

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
  readonly problems: ProblemCounter;
  /** The first process, then others; rejects when it cannot be used. */
  start(setup: ExecutorSetup): Promise<SubprocessExecutor>;
}

/** Starts an executor; what is wrong with it is told when it is taken. */
export function beginExecutor(request: BeginExecutorRequest, context: CliContext): BegunExecutor {
  const unused = new AbortController();
  const signal = AbortSignal.any([request.signal, unused.signal]);
  const problems = new ProblemCounter();
  let first: Promise<SubprocessExecutor> | null = openExecutor({ ...request, problems, signal }, context);
  first.catch(() => {});
  return {
    problems,
    async start(setup) {
      const opened = first ?? openExecutor({ ...request, problems }, context);
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
  { path, options, reporter, problems, signal }: BeginExecutorRequest & { readonly problems: ProblemCounter },
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
      // Everything that was cut off is late.
      if (note.kind === "unmatched" && signal.aborted) return;
      const count = problems.add(note);
      const isOutput = note.kind === "output" || note.kind === "unconfirmed";
      if ((isOutput && options.quiet === true) || count > maxToldPerKind + 1) return;
      if (count > maxToldPerKind) reporter.say("more messages of this kind are counted and not printed");
      else tellNote(note, reporter);
    },
  });
}

function tellNote(note: ExecutorNote, { print, say }: RunReporter): void {
  if (note.kind === "output" || note.kind === "unconfirmed") {
    const end = note.kind === "output" ? "" : " (unconfirmed: looks like an answer, taken for output)";
    for (const line of note.text.trimEnd().split("\n"))
      print(`${note.runId === null ? "" : `[${note.runId}] `}${line}${end}`);
  } else if (note.kind === "unmatched") say(`an answer that nobody waits for (${note.why}): ${note.text}`);
  else say(`a malformed message: ${note.text}`);
}
