import type { Clock } from "../../base/clock.ts";
import { toRaw, type RawJson } from "../../base/raw-json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import { isAbort } from "../../engine/abort-reason.ts";
import type { EvalOutcome, TaskOutcome } from "../executor/executor.ts";
import { ExecutorLost } from "../executor/executor.ts";
import type { ExecutorPool } from "../executor/executor-pool.ts";
import type { EarlierRun, EvaluatedRun, ExperimentOutput } from "../output/experiment-output.ts";
import type { FailureType, PlannedRun } from "./example.ts";
import { WorkQueue, type Job } from "./work-queue.ts";

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
  /** The stored result that a new one replaces; it counts if the experiment stops before. Default: none. */
  readonly replaced?: EvaluatedRun | undefined;
  /** This session ran the task that is known. Default: an earlier session did. */
  readonly isNew?: boolean | undefined;
}

/** A run that ended. */
export interface FinishedRun extends EvaluatedRun {
  /** Nothing was left to do: an earlier session finished it. */
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
  /** Runs with known results are reported also after a stop. Default: runs that come after it are left out. */
  readonly reportsKnown?: boolean | undefined;
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

/** Sends runs to executors: the task, then each evaluator. Never more at once than the rules allow. */
export async function runExperiment(options: ExperimentRunOptions): Promise<void> {
  const { rules, signal, nextRun, reportsKnown = false } = options;
  const failures: unknown[] = [];
  const isStopped = (): boolean => signal.aborted || failures.length > 0;
  const queue = new WorkQueue<DueRun, EvalJob>(() => (isStopped() && !reportsKnown ? null : nextRun()));
  const perform = async (job: Job<DueRun, EvalJob>): Promise<void> => {
    if (job.kind === "eval") await (failures.length > 0 ? endEval(job.eval, options) : runEval(job.eval, options));
    else await (isStopped() ? endTask(job.task, options) : runTask(job.task, queue, options));
  };
  const work = async (): Promise<void> => {
    for (;;) {
      const job = queue.takeReady() ?? (await queue.take());
      if (job === null) return;
      try {
        await perform(job);
      } catch (error) {
        failures.push(error);
      } finally {
        queue.done();
      }
    }
  };
  const workers = Array.from({ length: rules.maxWorkers }, () => work().catch((error) => void failures.push(error)));
  await Promise.all(workers);
  if (failures.length > 0) throw failures[0];
}

/** Reports what is stored of a run that is not run in this session. */
async function endTask({ run, known, replaced, isNew = false }: DueRun, options: ExperimentRunOptions): Promise<void> {
  const stored = known === null ? replaced : { ...known, run, evaluations: evaluationsOf(known) };
  if (stored !== undefined) await options.onFinished({ ...stored, isKept: !isNew });
}

/** Leaves out an evaluation. The run is reported without it. */
async function endEval({ open }: EvalJob, { onFinished }: ExperimentRunOptions): Promise<void> {
  if (--open.left === 0) await onFinished(open);
}

async function runTask(due: DueRun, queue: WorkQueue<DueRun, EvalJob>, options: ExperimentRunOptions): Promise<void> {
  const { run, known, isNew = false } = due;
  const { clock, output, signal, pool, params, rules } = options;
  if (known !== null) {
    const open = { ...known, run, evaluations: evaluationsOf(known), isKept: !isNew, left: 0 };
    return evaluate(open, known.evaluations, queue, options);
  }
  options.onStarted(run);
  let startedAt = clock.now();
  let began = clock.monotonic();
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
    if (failureType === null) {
      // It runs again when the experiment is resumed. Until then, its earlier result counts.
      await endTask(due, options);
      if (signal.aborted) return;
      throw error;
    }
    outcome = { output: null, metadata: null, error: messageOf(error), isCancelled: false };
  }
  const durationMs = clock.monotonic() - began;
  const open: OpenRun = { run, outcome, failureType, evaluations: [], startedAt, durationMs, isKept: false, left: 0 };
  await output.saveTask({ run, outcome, failureType, startedAt, durationMs });
  if (signal.aborted) return options.onFinished(open);
  const finished = evaluate(open, new Map(), queue, options);
  if (finished !== undefined) await finished;
}

/** Asks for the evaluations that are not done; a run that needs none is finished. */
function evaluate(
  open: OpenRun,
  done: EarlierRun["evaluations"],
  queue: WorkQueue<DueRun, EvalJob>,
  { evaluators, rules, params, onFinished, onStarted }: ExperimentRunOptions,
): void | Promise<void> {
  const isWorthIt = open.outcome.error === null || rules.evaluatesFailed;
  const missing = isWorthIt ? evaluators.filter((name) => !done.has(name)) : [];
  if (missing.length === 0) return onFinished(open);
  if (open.isKept) onStarted(open.run);
  const asked: OpenRun = { ...open, isKept: false, left: missing.length };
  const input = evalInput(open.run, open.outcome, params);
  queue.push(missing.map((evaluator) => ({ open: asked, evaluator, input })));
}

function evaluationsOf({ evaluations, outdated = [] }: EarlierRun): EvalOutcome[] {
  return [...evaluations.values(), ...outdated];
}

function taskInput({ runId, example, repetition }: PlannedRun, params: RawJson): RawJson {
  return `{"id":${toRaw(example.id)},"input":${example.input}${member("output", example.output)}${member("metadata", example.metadata)},"run_id":${toRaw(runId)},"repetition_number":${repetition},"params":${params}}` as RawJson;
}

/** Returns why an executor did not answer; null if the experiment ended first, or cannot go on. */
function failureTypeOf(error: unknown, signal: AbortSignal): FailureType | null {
  if (signal.aborted) return null;
  if (isAbort(error, "deadline")) return "task_timeout";
  return error instanceof ExecutorLost ? "executor_lost" : null;
}

async function runEval(job: EvalJob, options: ExperimentRunOptions): Promise<void> {
  const { open, evaluator, input } = job;
  const { pool, rules, signal, output } = options;
  const { runId } = open.run;
  try {
    const request = { runId, evaluator, input, limitMs: rules.evalLimitMs, signal };
    const outcome = await pool
      .call(`${runId} ${evaluator}`, signal, (executor) => executor.runEval(request))
      .catch((error: unknown) => failedEval(evaluator, error, signal));
    if (outcome !== null) {
      // Before it is stored: an evaluation of the same run that is stored at the same time must include this one.
      setEvaluation(open.evaluations, outcome);
      await output.saveEvaluation(open, outcome);
    }
  } finally {
    await endEval(job, options);
  }
}

/** Returns null for an evaluation that the end of the experiment cut off. Throws if the experiment cannot go on. */
function failedEval(evaluator: string, error: unknown, signal: AbortSignal): EvalOutcome | null {
  if (signal.aborted) return null;
  if (failureTypeOf(error, signal) === null) throw error;
  return { evaluator, score: null, label: null, explanation: null, metadata: null, error: messageOf(error) };
}

/** Adds an evaluation, or replaces the earlier one of the same evaluator. */
function setEvaluation(evaluations: EvalOutcome[], outcome: EvalOutcome): void {
  const at = evaluations.findIndex(({ evaluator }) => evaluator === outcome.evaluator);
  if (at === -1) evaluations.push(outcome);
  else evaluations[at] = outcome;
}

function evalInput({ runId, example }: PlannedRun, outcome: TaskOutcome, params: RawJson): RawJson {
  const id = toRaw(runId);
  return `{"example":{"id":${toRaw(example.id)},"run_id":${id},"input":${example.input}${member("output", example.output)}${member("metadata", example.metadata)}},"actual_output":${outcome.output ?? "null"}${member("expected_output", example.output)}${member("task_metadata", outcome.metadata)},"params":${params},"run_id":${id}}` as RawJson;
}

function member(name: string, raw: RawJson | null): string {
  return raw === null ? "" : `,"${name}":${raw}`;
}
