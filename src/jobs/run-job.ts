import type { LogEntry } from "../base/log.ts";
import type { Clock } from "../base/clock.ts";
import type { Host } from "../base/host.ts";
import type { Redactor } from "../base/redactor.ts";
import { shownPath } from "../base/shown-path.ts";
import { writeJsonAtomic } from "../base/writers/atomic-file.ts";
import type { AbortReason } from "../engine/abort-reason.ts";
import { runWindow } from "../engine/window.ts";
import type { RunEvent, RunListener, Unit } from "../store/run.ts";
import { BudgetWatch } from "./budget-watch.ts";
import { environmentLabels, headOf, nextCommands, ownerOf, startedLine } from "./describe-run.ts";
import { createJobDirectory } from "./output/job-directory.ts";
import { openJobJournal } from "./output/job-journal.ts";
import { openJobLog } from "./output/job-log.ts";
import { JobRecorder } from "./output/job-recorder.ts";
import type { JobResultFile } from "./output/job-result-schema.ts";
import { JobTally } from "./output/job-tally.ts";
import { toUnit } from "./output/trial-result-schema.ts";
import type { PreparedJob } from "./prepare-job.ts";
import { describeThrown } from "./trial/failure.ts";
import { ImageShelf } from "./trial/image-shelf.ts";
import { runTrial } from "./trial/run-trial.ts";
import type { Trial } from "./trial/trial.ts";
import type { TrialContext } from "./trial/trial-context.ts";

export interface RunJobOptions {
  readonly runId: string;
  readonly host: Host;
  readonly clock: Clock;
  /** Ends the job: running trials are terminated, the others skipped. */
  readonly signal: AbortSignal;
  /** Ends even the waiting for teardown. */
  readonly forceSignal: AbortSignal;
  readonly onEvent: RunListener;
  /** Log entries that reach the job's `log_level`. */
  readonly onLog: (entry: LogEntry) => void;
}

export interface JobRun {
  readonly dir: string;
  readonly result: JobResultFile;
  /** Environments that were kept on purpose, with the way in. */
  readonly kept: readonly { readonly id: string; readonly enter: string | null }[];
  /** Environments that could not be removed. */
  readonly leftBehind: readonly string[];
}

/** Runs a prepared job to its end; every finished result is on disk by then, whatever happened. */
export async function runPreparedJob(prepared: PreparedJob, options: RunJobOptions): Promise<JobRun> {
  const { job, redactor, trials } = prepared;
  const { clock } = options;
  const startedAt = clock.now();
  const from = clock.monotonic();
  const { name, paths } = await createJobDirectory(job.jobsDir, job.name, startedAt);
  await using logFile = await openJobLog(paths, clock, redactor, job.logLevel, options.onLog);
  const { log } = logFile;
  await writeJsonAtomic(paths.config, { ...job.document, name }, redactor);
  await writeJsonAtomic(paths.lock, ownerOf(options), redactor);
  await using journal = await openJobJournal(paths.journal, redactor);
  await journal.append(startedLine(prepared, options, name, startedAt));

  // What a listener does with an event is its own affair; a job of many hours does not end with it.
  const emit = (event: RunEvent): void => {
    try {
      options.onEvent(event);
    } catch (error) {
      log.write("error", "a listener threw", { event: event.type, error: describeThrown(error) });
    }
  };
  const warnings: string[] = [];
  const warn = (message: string): void => {
    warnings.push(message);
    log.write("warn", message);
    emit({ type: "warning", at: clock.now(), message: redactor.text(message) });
  };
  emit({
    type: "run_started",
    at: startedAt,
    run: headOf(prepared, options.runId, name, shownPath(paths.dir, options.host.cwd)),
  });
  for (const warning of prepared.warnings) warn(warning);

  const tally = new JobTally(plannedTrials(trials), job.metrics, !job.verifier.disable);
  let endedAt: number | null = null;
  let stoppedBy: AbortReason | null = null;
  const recorder = new JobRecorder({
    paths,
    journal,
    tally,
    clock,
    redactor,
    log,
    state: () => ({
      jobName: name,
      startedAt,
      endedAt,
      durationSec: Math.round(clock.monotonic() - from) / 1000,
      isCancelled: options.signal.aborted,
      isStoppedByBudget: stoppedBy?.kind === "budget",
      warnings,
    }),
  });

  const stopTaking = new AbortController();
  let running = 0;
  const stop = (reason: AbortReason): void => {
    if (stopTaking.signal.aborted) return;
    stoppedBy = reason;
    emit({ type: "run_stopping", at: clock.now(), reason: reason.message, running });
    stopTaking.abort(reason);
  };
  const onCancel = (): void => stop(options.signal.reason as AbortReason);
  if (options.signal.aborted) onCancel();
  else options.signal.addEventListener("abort", onCancel, { once: true });
  using budget = new BudgetWatch({ budget: job.budget, clock, onWarning: warn, onSpent: stop });

  const leftBehind: string[] = [];
  const kept: { readonly id: string; readonly enter: string | null }[] = [];
  const context: TrialContext = {
    job,
    jobDir: paths.dir,
    provider: prepared.provider,
    images: new ImageShelf({
      provider: prepared.provider,
      retry: job.retry,
      clock,
      redactor,
      imagesDir: paths.images,
      outputLimitBytes: job.outputLimitBytes,
      signal: options.signal,
      onActivity: (line) => emit({ type: "run_activity", at: clock.now(), line: redactor.text(line) }),
    }),
    clock,
    redactor,
    log,
    emit,
    labels: environmentLabels(options, name),
    signal: options.signal,
    forceSignal: options.forceSignal,
    onLeftBehind: (id) => leftBehind.push(id),
  };

  const skipped = await runWindow<Trial>({
    units: trials,
    limit: job.nConcurrentTrials,
    laneOf: (trial) => trial.agent.name,
    groupsOf: (trial) => [`agent:${trial.agent.name}`, `dataset:${trial.datasetName}`],
    groupLimits: groupLimits(prepared),
    signal: stopTaking.signal,
    async run(trial, slot) {
      running++;
      const result = await runTrial(trial, context, slot, (known) => recorder.record(trial.index, known));
      running--;
      recorder.count(trial.index, result);
      kept.push(...(result.teardown?.kept ?? []));
      emit({ type: "unit_finished", at: clock.now(), unit: redactUnit(toUnit(result), redactor) });
      const { costUsd, tokens } = tally.spent();
      budget.spend(costUsd, tokens);
    },
  });

  options.signal.removeEventListener("abort", onCancel);
  tally.skip(skipped.map((trial) => trial.index));
  endedAt = clock.now();
  const result = await recorder.close();
  await journal.append({
    type: "job_ended",
    ended_at: new Date(endedAt).toISOString(),
    duration_sec: result.total_duration_sec,
    cancelled: result.cancelled,
    stopped_by_budget: result.stopped_by_budget,
    skipped: skipped.map((trial) => trial.index),
    warnings,
  });
  const status = result.cancelled ? "cancelled" : result.stopped_by_budget ? "budget_exhausted" : "completed";
  emit({
    type: "run_finished",
    at: endedAt,
    tail: {
      status,
      skipped: skipped.length,
      durationSec: result.total_duration_sec,
      next: nextCommands(paths.dir, options.host.cwd),
    },
  });
  return { dir: paths.dir, result, kept, leftBehind };
}

function plannedTrials(
  trials: readonly Trial[],
): { agentName: string; datasetName: string; taskName: string; attempt: number }[] {
  return trials.map((trial) => ({
    agentName: trial.agent.name,
    datasetName: trial.datasetName,
    taskName: trial.task.name,
    attempt: trial.attempt,
  }));
}

function groupLimits({ job, datasets }: PreparedJob): Map<string, number> {
  const limits = new Map<string, number>();
  for (const agent of job.agents) if (agent.nConcurrent !== null) limits.set(`agent:${agent.name}`, agent.nConcurrent);
  for (const dataset of datasets)
    if (dataset.nConcurrent !== null) limits.set(`dataset:${dataset.name}`, dataset.nConcurrent);
  return limits;
}

// Only what people see passes here; the files are redacted by their writers.
function redactUnit(unit: Unit, redactor: Redactor): Unit {
  const { failure, warnings } = unit;
  return {
    ...unit,
    failure: failure && { ...failure, message: redactor.text(failure.message) },
    warnings: warnings.map((warning) => redactor.text(warning)),
  };
}
