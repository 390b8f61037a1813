import type { Clock } from "../../base/clock.ts";
import { toRaw, type RawJson } from "../../base/raw-json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { isAbort } from "../../engine/abort-reason.ts";
import { startDeadline } from "../../engine/deadline.ts";
import type { EvalOutcome, TaskOutcome } from "../executor/executor.ts";
import { ExecutorLost } from "../executor/executor.ts";
import type { ExecutorPool } from "../executor/executor-pool.ts";
import type { ExperimentOutput } from "../output/experiment-output.ts";
import type { PlannedRun } from "./example.ts";
import { WorkQueue } from "./work-queue.ts";

export interface ExperimentRules {
  readonly maxWorkers: number;
  readonly taskLimitMs: number;
  readonly evalLimitMs: number;
  readonly isPhased: boolean;
  readonly evaluatesFailed: boolean;
}

/** How a run ended as a whole. */
export interface FinishedRun {
  readonly run: PlannedRun;
  readonly outcome: TaskOutcome;
  readonly failureType: "task_failed" | "task_timeout" | "executor_lost" | "run_cancelled" | null;
  readonly evaluations: readonly EvalOutcome[];
  readonly durationMs: number;
}

export interface ExperimentRunOptions {
  readonly pool: ExecutorPool;
  readonly evaluators: readonly string[];
  readonly params: RawJson;
  readonly rules: ExperimentRules;
  readonly output: ExperimentOutput;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly nextRun: () => Promise<PlannedRun | null>;
  readonly onStarted: (run: PlannedRun) => void;
  readonly onFinished: (finished: FinishedRun) => void;
}

interface OpenRun {
  readonly run: PlannedRun;
  readonly outcome: TaskOutcome;
  readonly failureType: FinishedRun["failureType"];
  readonly evaluations: EvalOutcome[];
  readonly durationMs: number;
  left: number;
}

interface EvalJob {
  readonly open: OpenRun;
  readonly evaluator: string;
}

/** Takes runs to executors: the task, then each evaluator, never more at once than the rules allow. */
export async function runExperiment(options: ExperimentRunOptions): Promise<void> {
  const { rules, signal, nextRun } = options;
  const queue = new WorkQueue<PlannedRun, EvalJob>({
    nextTask: async () => (signal.aborted ? null : await nextRun()),
    isPhased: rules.isPhased,
  });
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    for (;;) {
      const job = failures.length > 0 ? null : await queue.take();
      if (job === null) return;
      try {
        if (job.kind === "task") await runTask(job.task, queue, options);
        else await runEval(job.eval, options);
      } catch (error) {
        failures.push(error);
      } finally {
        if (job.kind === "task") queue.taskAnswered();
        queue.done();
      }
    }
  };
  await Promise.all(Array.from({ length: rules.maxWorkers }, work));
  if (failures.length > 0) throw failures[0];
}

async function runTask(
  run: PlannedRun,
  queue: WorkQueue<PlannedRun, EvalJob>,
  options: ExperimentRunOptions,
): Promise<void> {
  const { clock, output, rules, evaluators, signal } = options;
  const earlier = output.earlier.get(run.runId);
  if (earlier !== undefined) {
    const open = openRun(run, earlier.outcome, null, 0);
    open.evaluations.push(...earlier.evaluations.values());
    return evaluate(
      open,
      evaluators.filter((name) => !earlier.evaluations.has(name)),
      queue,
      options,
    );
  }
  options.onStarted(run);
  const startedAt = clock.now();
  const began = clock.monotonic();
  const { outcome, failureType } = await callTask(run, options);
  const open = openRun(run, outcome, failureType, clock.monotonic() - began);
  // What the end of the experiment cut off runs again.
  if (failureType === "run_cancelled") return options.onFinished(open);
  await output.saveRun({ run, outcome, startedAt, completedAt: clock.now() });
  const wanted = outcome.error === null || rules.evaluatesFailed ? evaluators : [];
  if (signal.aborted) return options.onFinished(open);
  evaluate(open, wanted, queue, options);
}

function openRun(
  run: PlannedRun,
  outcome: TaskOutcome,
  failureType: FinishedRun["failureType"],
  durationMs: number,
): OpenRun {
  return { run, outcome, failureType, evaluations: [], durationMs, left: 0 };
}

function evaluate(
  open: OpenRun,
  names: readonly string[],
  queue: WorkQueue<PlannedRun, EvalJob>,
  { onFinished }: ExperimentRunOptions,
): void {
  open.left = names.length;
  if (names.length === 0) onFinished(open);
  else queue.push(names.map((evaluator) => ({ open, evaluator })));
}

async function callTask(
  { runId, example, repetition }: PlannedRun,
  { pool, params, rules, clock, signal }: ExperimentRunOptions,
): Promise<{ outcome: TaskOutcome; failureType: FinishedRun["failureType"] }> {
  const input = `{"id":${toRaw(example.id)},"input":${example.input}${member("output", example.output)}${member("metadata", example.metadata)},"run_id":${toRaw(runId)},"repetition_number":${repetition},"params":${params}}`;
  using deadline = startDeadline({ clock, limitMs: rules.taskLimitMs, parent: signal, what: "the task" });
  try {
    const outcome = await pool.call(runId, (executor) =>
      executor.runTask({ runId, input: input as RawJson, signal: deadline.signal }),
    );
    return { outcome, failureType: outcome.error === null ? null : "task_failed" };
  } catch (error) {
    if (!(error instanceof ExecutorLost) && !deadline.signal.aborted) throw error;
    const failureType = signal.aborted
      ? "run_cancelled"
      : isAbort(error, "deadline")
        ? "task_timeout"
        : "executor_lost";
    return { outcome: { output: null, metadata: null, error: messageOf(error), isCancelled: false }, failureType };
  }
}

async function runEval({ open, evaluator }: EvalJob, options: ExperimentRunOptions): Promise<void> {
  const { run, outcome } = open;
  const evaluation = await callEval(run, outcome, evaluator, options);
  if (evaluation !== null) {
    open.evaluations.push(evaluation);
    await options.output.saveEvaluation(run, evaluation);
  }
  if (--open.left === 0) options.onFinished(open);
}

/** Null when the experiment ended first. */
async function callEval(
  { runId, example }: PlannedRun,
  outcome: TaskOutcome,
  evaluator: string,
  { pool, params, rules, clock, signal }: ExperimentRunOptions,
): Promise<EvalOutcome | null> {
  const id = toRaw(runId);
  const input = `{"example":{"id":${toRaw(example.id)},"run_id":${id},"input":${example.input}${member("output", example.output)}${member("metadata", example.metadata)}},"actual_output":${outcome.output ?? "null"}${member("expected_output", example.output)}${member("task_metadata", outcome.metadata)},"params":${params},"run_id":${id}}`;
  using deadline = startDeadline({
    clock,
    limitMs: rules.evalLimitMs,
    parent: signal,
    what: `evaluator "${evaluator}"`,
  });
  try {
    return await pool.call(runId, (executor) =>
      executor.runEval({ runId, evaluator, input: input as RawJson, signal: deadline.signal }),
    );
  } catch (error) {
    if (signal.aborted) return null;
    if (!(error instanceof ExecutorLost) && !deadline.signal.aborted) throw error;
    return { evaluator, score: null, label: null, explanation: null, metadata: null, error: messageOf(error) };
  }
}

function member(name: string, raw: RawJson | null): string {
  return raw === null ? "" : `,"${name}":${raw}`;
}
