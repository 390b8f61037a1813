import type { JsonObject } from "../../base/json.ts";
import { plainJson } from "../../base/plain-json.ts";
import { isDiskFull, RolloutError } from "../../base/rollout-error.ts";
import { isComplete, summaryJson } from "../../experiments/output/summary-json.ts";
import {
  performExperiment,
  type ExperimentOptions,
  type ExperimentOutcome,
} from "../../experiments/perform-experiment.ts";
import type { ExperimentCounts, ExperimentSummary } from "../../experiments/run/experiment-tally.ts";
import { runJson } from "../../store/run-json.ts";
import type { CliContext } from "../cli-context.ts";
import { exitCodeOfSignal, exitCodes } from "../exit-codes.ts";
import type { Interrupts, SignalName } from "../interrupts.ts";
import { jsonModeOf, type ReportOptions } from "../report-options.ts";
import type { RunReporter } from "../run-reporter.ts";
import type { BegunExecutor } from "./begin-executor.ts";
import { describeFailures } from "./describe-failures.ts";

/** What `rollout experiment` and `rollout experiment score` take both. */
export interface ExecutorOptions extends ReportOptions {
  readonly param?: readonly string[];
  readonly maxWorkers: number;
  readonly processes: number;
  readonly evaluateFailed?: boolean;
  readonly executor?: string;
  readonly evalTimeout: number;
}

export interface ExperimentWork extends Pick<
  ExperimentOptions,
  "params" | "repetitions" | "examples" | "openOutput" | "isPhased" | "passAt" | "earlier" | "rescore"
> {
  readonly begun: BegunExecutor;
  /** Parameters of an experiment that is scored anew. */
  readonly inherited?: JsonObject | undefined;
  readonly taskLimitMs: number;
  /** What to type to go on when it did not come to its end; null when nothing is kept. */
  readonly again: string | null;
  /** What to type to see it again. */
  readonly look: string;
}

export interface Told {
  readonly reporter: RunReporter;
  readonly interrupts: Interrupts;
}

/** Has an experiment file do its work, tells of it, and returns the exit code. */
export async function runExperimentFile(
  work: ExperimentWork,
  options: ExecutorOptions,
  { reporter, interrupts }: Told,
  context: CliContext,
): Promise<number> {
  const { clock, terminal } = context;
  const { params, inherited, again, look, begun } = work;
  const { signal } = interrupts;
  const summary = await performExperiment({
    ...work,
    params: { ...inherited, ...params },
    startExecutor: (maxWorkers) => begun.start({ maxWorkers, params, inherited }),
    processes: options.processes,
    rules: {
      maxWorkers: options.maxWorkers,
      taskLimitMs: work.taskLimitMs,
      evalLimitMs: options.evalTimeout * 1000,
      evaluatesFailed: options.evaluateFailed === true,
    },
    problems: begun.problems,
    clock,
    signal,
    forceSignal: interrupts.forceSignal,
    notes: again === null ? ["dry run: nothing is stored"] : [],
    next: (counts) => (again === null ? [] : isDone(counts, work) ? [look] : [again, look]),
    onEvent: reporter.isHeard ? reporter.onEvent : null,
  });
  const exitCode = exitCodeOfExperiment(summary, interrupts.received);
  if (options.quiet === true && exitCode === exitCodes.incomplete && summary.error === null)
    reporter.say(describeFailures(summary, again === null ? null : look));
  if (jsonModeOf(options) === "final") terminal.out(`${plainJson(outcomeJson(summary, exitCode))}\n`);
  if (summary.error !== null) reporter.say(summary.error);
  if (exitCode === exitCodes.bug && again !== null)
    reporter.say(
      `${isDiskFull(summary.cause) ? "the disk is full; " : ""}earlier results are stored; resume with: ${again}`,
    );
  return exitCode;
}

/** Returns whether running the same command again would change nothing: scoring runs no task that failed. */
function isDone(counts: ExperimentCounts, { rescore }: ExperimentWork): boolean {
  return isComplete(rescore === undefined ? counts : { ...counts, failed: 0, skipped: 0 });
}

function exitCodeOfExperiment(summary: ExperimentSummary, received: SignalName | null): number {
  if (received !== null) return exitCodeOfSignal(received);
  const { cause } = summary;
  if (isDiskFull(cause) || (cause instanceof RolloutError && cause.code === "io_failed")) return exitCodes.bug;
  return isComplete(summary) ? exitCodes.done : exitCodes.incomplete;
}

function outcomeJson(summary: ExperimentOutcome, exitCode: number): JsonObject {
  return {
    schema_version: 1,
    exit_code: exitCode,
    ...summaryJson(summary),
    aggregate_scores: Object.fromEntries(summary.aggregates.map(({ aggregate, score }) => [aggregate, score])),
    error: summary.error,
    location: summary.location,
    run: runJson(summary.run),
  };
}
