import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { isDiskFull, messageOf } from "../../base/rollout-error.ts";
import { openCappedStream, type CappedStream } from "../../base/writers/capped-stream.ts";
import type { Environment, ExecResult, OutputSink } from "../../environments/environment.ts";
import { raceWithSignal } from "../../engine/race-with-signal.ts";
import { withDeadline } from "../../engine/with-deadline.ts";
import { OutputTail } from "./output-tail.ts";
import type { TrialContext } from "./trial-context.ts";

export interface CapturedRequest {
  readonly context: TrialContext;
  readonly environment: Environment;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** `stdout.txt` and `stderr.txt` are written here while the command runs. */
  readonly dir: string;
  readonly limitMs: number;
  /** What the limit bounds, for the message: `agent execution`. */
  readonly what: string;
  readonly onLine: (line: string) => void;
  readonly warn: (message: string) => void;
  /** Looks at a stream on its way to the file. */
  readonly watch?: ((sink: OutputSink, stream: "stdout" | "stderr") => WatchingSink) | undefined;
}

/** A sink that may hold something back until the end. */
export interface WatchingSink extends OutputSink {
  end?(): void | Promise<void>;
}

export interface CapturedEnd {
  readonly result: ExecResult;
  /** The end of what it printed, stderr before stdout, for a message. */
  readonly lastLines: readonly string[];
}

// How long an environment may take to kill what it was told to kill before we go on without it.
const killGraceMs = 30_000;

/** Runs a command in an environment under its limit, with its output streaming to files; throws the reason when it is cut short. */
export async function runCaptured(request: CapturedRequest): Promise<CapturedEnd> {
  const { context, environment, dir, onLine, warn } = request;
  const { clock, redactor } = context;
  await using files = await openCapture(context, dir, warn);
  const tails = { stdout: new OutputTail(clock, redactor, onLine), stderr: new OutputTail(clock, redactor, onLine) };
  const watch = request.watch ?? ((sink: OutputSink): WatchingSink => sink);
  const stdout = watch(tails.stdout.watch(files.stdout), "stdout");
  const stderr = watch(tails.stderr.watch(files.stderr), "stderr");
  const limit = { clock, limitMs: request.limitMs, parent: context.signal, what: request.what, graceMs: killGraceMs };
  const work = withDeadline(limit, (signal) =>
    environment.exec({
      command: request.command,
      env: request.env,
      stdout,
      stderr,
      signal,
    }),
  );
  let result: ExecResult;
  try {
    // A second signal does not even wait for the killing.
    result = await raceWithSignal(work, context.forceSignal, () => {});
  } finally {
    await stdout.end?.();
    await stderr.end?.();
  }
  const errors = tails.stderr.lastLines(5);
  return { result, lastLines: errors.length > 0 ? errors : tails.stdout.lastLines(5) };
}

interface Capture extends AsyncDisposable {
  readonly stdout: CappedStream;
  readonly stderr: CappedStream;
}

/** Opens the two files of a captured step; closing reports what was cut and never throws. */
export async function openCapture(
  context: TrialContext,
  dir: string,
  warn: (message: string) => void,
): Promise<Capture> {
  const { outputLimitBytes } = context.job;
  mkdirSync(dir, { recursive: true });
  const [stdout, stderr] = await Promise.all([
    openCappedStream(join(dir, "stdout.txt"), outputLimitBytes, context.redactor),
    openCappedStream(join(dir, "stderr.txt"), outputLimitBytes, context.redactor),
  ]);
  const close = async (stream: CappedStream, name: string): Promise<void> => {
    try {
      const { bytes, cutBytes } = await stream.close();
      if (cutBytes > 0) warn(`${name} had ${bytes} bytes; ${cutBytes} in the middle were cut (output_limit)`);
    } catch (error) {
      warn(`${name} could not be written whole: ${messageOf(error)}`);
      if (isDiskFull(error)) context.onDiskFull(error);
    }
  };
  return {
    stdout,
    stderr,
    async [Symbol.asyncDispose]() {
      const folder = dir.split("/").at(-1) ?? dir;
      await Promise.all([close(stdout, `${folder}/stdout.txt`), close(stderr, `${folder}/stderr.txt`)]);
    },
  };
}
