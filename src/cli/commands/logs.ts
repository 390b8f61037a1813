import { existsSync } from "node:fs";
import { AbortReason } from "../../engine/abort-reason.ts";
import { padEnd, plainText } from "../../base/terminal-text.ts";
import { findTrialKey } from "../../jobs/output/find-trial-key.ts";
import { trialPaths } from "../../jobs/output/job-paths.ts";
import { keyOf } from "../../jobs/output/planned-trial.ts";
import { followStreams, readStreams, type StreamLines } from "../../jobs/output/read-streams.ts";
import { selectStreams, trialStreams, type TrialStream } from "../../jobs/output/trial-streams.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodeOfSignal, exitCodes } from "../exit-codes.ts";
import { listenToInterrupts } from "../interrupts.ts";
import { isJobAlive } from "../job-life.ts";
import { readNamedJob } from "../runs/locate-job.ts";
import type { Terminal } from "../terminal.ts";

export interface LogsOptions {
  readonly follow?: boolean;
  readonly stream?: string;
}

/** `rollout logs`: prints the captured streams of a trial, and with `-f` what is added to them. */
export async function logsCommand(
  run: string,
  trial: string,
  options: LogsOptions,
  context: CliContext,
): Promise<number> {
  const { host, clock, terminal, process } = context;
  const streams = options.stream === undefined ? trialStreams : selectStreams(options.stream);
  const job = await readNamedJob(run, context);
  const key = findTrialKey(job.plan.map(keyOf), trial);
  const { dir, result } = trialPaths(job.dir, key);
  const isOver = (): boolean => existsSync(result) || job.hasEnded || !isJobAlive(job, host);
  const isFollowing = options.follow === true && !isOver();
  using interrupts = listenToInterrupts(
    process,
    () => {},
    () => {},
    "the command",
  );
  const reader = new AbortController();
  // Nobody reads any more, as after `| head`.
  process.stdout.on("error", () => reader.abort(new AbortReason("cancelled", "stdout was closed")));
  const signal = AbortSignal.any([interrupts.signal, reader.signal]);
  const print = isFollowing ? followPrinter(terminal, streams) : headingPrinter(terminal, streams);
  let hasLines = false;
  try {
    const lines = isFollowing
      ? followStreams({ dir, streams, clock, isOver, signal })
      : readStreams({ dir, streams, signal });
    for await (const part of lines) {
      hasLines = true;
      print(part);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    return interrupts.received === null ? exitCodes.done : exitCodeOfSignal(interrupts.received);
  }
  if (isFollowing && !existsSync(result))
    terminal.err(plainText(`${key} has no result: the process of its job has ended`) + "\n");
  else if (!hasLines)
    terminal.err(plainText(`${key} ${existsSync(dir) ? "has printed nothing" : "has not started"}`) + "\n");
  return exitCodes.done;
}

type Printer = (part: StreamLines) => void;

// One stream after the other, so that a heading is enough.
function headingPrinter(terminal: Terminal, streams: readonly TrialStream[]): Printer {
  let isFirst = true;
  return ({ stream, lines, isStart }) => {
    if (isStart && streams.length > 1) terminal.out(`${isFirst ? "" : "\n"}==> ${stream.path} <==\n`);
    isFirst = false;
    terminal.out(lines.map((line) => `${printable(line)}\n`).join(""));
  };
}

// Lines of several streams come in turns, so that each says where it is from.
function followPrinter(terminal: Terminal, streams: readonly TrialStream[]): Printer {
  const width = Math.max(...streams.map(({ name }) => shorten(name).length));
  return ({ stream, lines }) => {
    const prefix = streams.length > 1 ? `${padEnd(shorten(stream.name), width)} | ` : "";
    terminal.out(lines.map((line) => `${prefix}${printable(line)}\n`).join(""));
  };
}

function shorten(name: string): string {
  return name.replace("stdout", "out").replace("stderr", "err");
}

function printable(line: string): string {
  return plainText(line.trimEnd().replaceAll("\t", "    "));
}
