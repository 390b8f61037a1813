import type { Clock } from "../../base/clock.ts";
import { toRaw, type RawJson } from "../../base/raw-json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { isAbort } from "../../engine/abort-reason.ts";
import type { EvalOutcome, TaskOutcome } from "../executor/executor.ts";
import { ExecutorLost } from "../executor/executor.ts";
import type { ExecutorPool } from "../executor/executor-pool.ts";
import type { EarlierRun, ExperimentOutput } from "../output/experiment-output.ts";
import type { FailureType, PlannedRun } from "./example.ts";
import { WorkQueue } from "./work-queue.ts";

export interface ExperimentRules {
  readonly maxWorkers: number;
  readonly taskLimitMs: number;
  readonly evalLimitMs: number;
  readonly evaluatesFailed: boolean;
}

/** A run that is due, with what is known of it already. */
export interface DueRun {
  readonly run: PlannedRun;
  /** Null when its task is yet to be run. */
  readonly known: EarlierRun | null;
}

/** How a run ended as a whole. */
export interface FinishedRun {
  readonly run: PlannedRun;
  readonly outcome: TaskOutcome;
  readonly failureType: FailureType | null;
  readonly evaluations: readonly EvalOutcome[];
  readonly durationMs: number;
  /** Nothing was left to do: it is as an earlier session left it. */
  readonly isKept: boolean;
}

export interface ExperimentRunOptions {
  readonly pool: ExecutorPool;
  readonly evaluators: readonly string[];
  readonly params: RawJson;
  readonly rules: ExperimentRules;
  readonly output: ExperimentOutput;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Null at the end. */
  readonly nextRun: () => Promise<DueRun | null> | DueRun | null;
  readonly onStarted: (run: PlannedRun) => void;
  readonly onFinished: (finished: FinishedRun) => void | Promise<void>;
}

interface OpenRun extends FinishedRun {
  readonly evaluations: EvalOutcome[];
  left: number;
}

interface EvalJob {
  readonly open: OpenRun;
  readonly evaluator: string;
  /** The same for all evaluators of a run. */
  readonly input: RawJson;
}

/** Takes runs to executors: the task, then each evaluator, never more at once than the rules allow. */
export async function runExperiment(options: ExperimentRunOptions): Promise<void> {
  const { rules, signal, nextRun } = options;
  const queue = new WorkQueue<DueRun, EvalJob>(() => (signal.aborted ? null : nextRun()));
  const failures: unknown[] = [];
  const work = async (): Promise<void> => {
    for (;;) {
      const job = failures.length > 0 ? null : (queue.takeReady() ?? (await queue.take()));
      if (job === null) return;
      try {
        if (job.kind === "eval") await runEval(job.eval, options);
        else await runTask(job.task, queue, options);
      } catch (error) {
        failures.push(error);
      } finally {
        queue.done();
      }
    }
  };
  await Promise.all(Array.from({ length: rules.maxWorkers }, work));
  if (failures.length > 0) throw failures[0];
}

async function runTask(
  { run, known }: DueRun,
  queue: WorkQueue<DueRun, EvalJob>,
  options: ExperimentRunOptions,
): Promise<void> {
  const { clock, output, signal, pool, params, rules } = options;
  if (signal.aborted) return;
  let startedAt = clock.now();
  let began = clock.monotonic();
  const evaluations = known === null ? [] : [...known.evaluations.values()];
  if (known !== null) return evaluate({ ...known, run, evaluations, isKept: true, left: 0 }, queue, options);
  options.onStarted(run);
  let outcome: TaskOutcome;
  let failureType: FailureType | null = null;
  try {
    const { runId } = run;
    const request = { runId, input: taskInput(run, params), limitMs: rules.taskLimitMs, signal };
    outcome = await pool.call(runId, signal, (executor) => {
      // Neither an executor that was lost nor the wait for another one is the task's time.
      [startedAt, began] = [clock.now(), clock.monotonic()];
      return executor.runTask(request);
    });
    if (outcome.error !== null) failureType = "task_failed";
  } catch (error) {
    failureType = failureTypeOf(error, signal);
    outcome = { output: null, metadata: null, error: messageOf(error), isCancelled: false };
  }
  const durationMs = clock.monotonic() - began;
  const open: OpenRun = { run, outcome, failureType, evaluations, durationMs, isKept: false, left: 0 };
  // What the end of the experiment cut off runs again.
  if (failureType === "run_cancelled") return options.onFinished(open);
  await output.saveRun({ run, outcome, failureType, startedAt, durationMs });
  if (signal.aborted) return options.onFinished(open);
  const finished = evaluate(open, queue, options);
  if (finished !== undefined) await finished;
}

/** Asks for the evaluations that are missing; a run that needs none is finished. */
function evaluate(
  open: OpenRun,
  queue: WorkQueue<DueRun, EvalJob>,
  { evaluators, rules, params, onFinished, onStarted }: ExperimentRunOptions,
): void | Promise<void> {
  const isWorthIt = open.outcome.error === null || rules.evaluatesFailed;
  const missing = isWorthIt ? evaluators.filter((name) => !open.evaluations.some((one) => one.evaluator === name)) : [];
  if (missing.length === 0) return onFinished(open);
  if (open.isKept) onStarted(open.run);
  const asked: OpenRun = { ...open, isKept: false, left: missing.length };
  const input = evalInput(open.run, open.outcome, params);
  queue.push(missing.map((evaluator) => ({ open: asked, evaluator, input })));
}

function taskInput({ runId, example, repetition }: PlannedRun, params: RawJson): RawJson {
  return `{"id":${toRaw(example.id)},"input":${example.input}${member("output", example.output)}${member("metadata", example.metadata)},"run_id":${toRaw(runId)},"repetition_number":${repetition},"params":${params}}` as RawJson;
}

/** What kept an executor from answering; throws what says that no executor can be had. */
function failureTypeOf(error: unknown, signal: AbortSignal): FailureType {
  if (signal.aborted) return "run_cancelled";
  if (isAbort(error, "deadline")) return "task_timeout";
  if (error instanceof ExecutorLost) return "executor_lost";
  throw error;
}

async function runEval({ open, evaluator, input }: EvalJob, options: ExperimentRunOptions): Promise<void> {
  const { pool, rules, signal, output, onFinished } = options;
  const { run } = open;
  const { runId } = run;
  let evaluation: EvalOutcome | null;
  try {
    const request = { runId, evaluator, input, limitMs: rules.evalLimitMs, signal };
    evaluation = await pool.call(`${runId} ${evaluator}`, signal, (executor) => executor.runEval(request));
  } catch (error) {
    const nothing = { score: null, label: null, explanation: null, metadata: null };
    // The experiment ended first.
    const isCancelled = failureTypeOf(error, signal) === "run_cancelled";
    evaluation = isCancelled ? null : { evaluator, ...nothing, error: messageOf(error) };
  }
  if (evaluation !== null) {
    open.evaluations.push(evaluation);
    await output.saveEvaluation(run, evaluation);
  }
  const finished = --open.left === 0 ? onFinished(open) : undefined;
  if (finished !== undefined) await finished;
}

function evalInput({ runId, example }: PlannedRun, outcome: TaskOutcome, params: RawJson): RawJson {
  const id = toRaw(runId);
  return `{"example":{"id":${toRaw(example.id)},"run_id":${id},"input":${example.input}${member("output", example.output)}${member("metadata", example.metadata)}},"actual_output":${outcome.output ?? "null"}${member("expected_output", example.output)}${member("task_metadata", outcome.metadata)},"params":${params},"run_id":${id}}` as RawJson;
}

function member(name: string, raw: RawJson | null): string {
  return raw === null ? "" : `,"${name}":${raw}`;
}
