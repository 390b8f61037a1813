import { messageOf } from "../base/rollout-error.ts";
import { shownPath } from "../base/shown-path.ts";
import { AbortReason } from "../engine/abort-reason.ts";
import { Gate } from "../engine/gate.ts";
import { runWindow } from "../engine/window.ts";
import { removeAbandoned } from "./remove-abandoned.ts";
import { BudgetWatch } from "./budget-watch.ts";
import {
  describeSession,
  endedLine,
  enterCommand,
  environmentLabels,
  headOf,
  isWhole,
  nextCommands,
  ownerOf,
  resumeCommand,
  startedLine,
  tailOf,
} from "./describe-run.ts";
import { InstallCache } from "./installs/install-cache.ts";
import { JobInputs, type OnTaskRead } from "./inputs/job-inputs.ts";
import { keepTaskTexts } from "./inputs/task-texts.ts";
import { JobRecorder } from "./output/job-recorder.ts";
import type { JobRun, RunJobOptions } from "./job-run.ts";
import { JobTally, type TallyEnd } from "./output/job-tally.ts";
import { openJobOutput, type JobOutput } from "./output/open-job-output.ts";
import { plannedTrialsOf } from "./planned-trials-of.ts";
import { isFailed, toUnit } from "./output/trial-result-schema.ts";
import type { PreparedJob } from "./prepare-job.ts";
import { reopenTrial, takeUp } from "./resume/take-up.ts";
import { PauseWatch } from "./pause-watch.ts";
import { retellJob } from "./retell-job.ts";
import { describeRaised } from "./raise-budget.ts";
import { raiseAfterRun, refuseSpentBudget } from "./spent-budget.ts";
import { RunVoice } from "./run-voice.ts";
import { StopSwitch } from "./stop-switch.ts";
import { ImageShelf } from "./trial/image-shelf.ts";
import { runTrial } from "./trial/run-trial.ts";
import type { Trial } from "./trial/trial.ts";
import type { TrialContext } from "./trial/trial-context.ts";

/** Runs a prepared job to its end; every finished result is on disk by then, whatever happened. Rejects before a start without a budget. */
export async function runPreparedJob(prepared: PreparedJob, options: RunJobOptions): Promise<JobRun> {
  const { job, redactor, trials: plan } = prepared;
  const { clock, signal, session } = options;
  if (session?.isIdle) return retellJob(prepared, session, options);
  refuseSpentBudget(prepared, session, options.host);
  const earlierSessions = session?.sessions ?? [];
  const startedAt = clock.now();
  const from = clock.monotonic();
  await using output = await openJobOutput({
    jobsDir: job.jobsDir,
    name: job.name,
    reopened: session?.directory ?? null,
    startedAt,
    host: options.host,
    clock,
    signal,
    redactor,
    logLevel: job.logLevel,
    onLog: options.onLog,
    document: job.document,
    owner: ownerOf(options),
    startedLine: (name, number) =>
      startedLine(prepared, options, {
        name,
        session: number,
        startedAt,
        earlierSessions,
        acceptedChanges: session?.changes.map(({ what }) => what) ?? [],
      }),
  });
  const { name, paths, log, journal } = output;
  const voice = new RunVoice(clock, redactor, log, options.onEvent);
  const shownDir = shownPath(paths.dir, options.host.cwd);
  voice.emit({ type: "run_started", at: startedAt, run: headOf(prepared, options, name, shownDir) });
  for (const warning of [...prepared.warnings, ...(session?.warnings ?? [])]) voice.warn(warning);

  let running = 0;
  let endedAt: number | null = null;
  let hasRest = true;
  using stopping = new StopSwitch(signal, (reason) =>
    voice.emit({
      type: "run_stopping",
      at: clock.now(),
      reason: reason.message,
      running,
      isTerminating: reason.kind === "cancelled",
    }),
  );
  const tally = new JobTally(plannedTrialsOf(plan), job.metrics, !job.verifier.disable);
  const state = (): TallyEnd => ({
    jobName: name,
    sessions: [...earlierSessions, describeSession(startedAt, endedAt, clock.monotonic() - from)],
    isCancelled: signal.aborted,
    // A budget that the last trial used up has stopped nothing.
    isStoppedByBudget: stopping.isSpent && hasRest,
    warnings: voice.warnings,
  });
  const recorder = new JobRecorder({ paths, journal, tally, clock, redactor, log, state });
  using budget = new BudgetWatch({
    budget: job.budget,
    clock,
    earlierSec: earlierSessions.reduce((sum, { duration_sec: sec }) => sum + sec, 0),
    onWarning: (message) => voice.warn(message),
    onSpent: (reason) => stopping.stop(reason),
  });
  const leftBehind: string[] = [];
  let failedKey: string | null = null;
  const kept: { readonly id: string; readonly enter: string | null }[] = [];
  const context = trialContext(prepared, options, output, voice, { leftBehind, stopping, recorder });

  if (session) {
    await takeUp(session, { plan, paths, journal, redactor, tally, voice });
    recorder.touch();
  }
  const spend = (): void => budget.spend(tally.spent());
  const units = session?.trials ?? plan;
  if (units.length > 0) spend();
  const gate = new Gate();
  using _pausing = new PauseWatch({
    file: paths.pause,
    gate,
    onChange: (isPaused) => voice.emit({ type: isPaused ? "run_paused" : "run_continued", at: clock.now() }),
  });
  const reaping = removeAbandoned(prepared.provider, options, voice);
  const unstarted = await runWindow<Trial>({
    units,
    limit: job.nConcurrentTrials,
    laneOf: (trial) => trial.agent.name,
    groupsOf: (trial) => [`agent:${trial.agent.name}`, `dataset:${trial.datasetName}`],
    groupLimits: groupLimits(prepared),
    gate,
    signal: stopping.signal,
    async run(trial, slot) {
      running++;
      const result = await runTrial(trial, context, slot, async (known) => {
        const recorded = recorder.record(trial.index, known);
        // Now rather than at the end: the next trial may start while this one's environment is removed.
        spend();
        await recorded;
      });
      running--;
      recorder.count(trial.index, result);
      if (isFailed(result)) failedKey ??= trial.key;
      kept.push(...(result.teardown?.kept ?? []));
      voice.finished(toUnit(result));
    },
  });

  hasRest = unstarted.length > 0;
  await reaping;
  await context.images.settle(options.forceSignal);
  const skipped: number[] = [];
  for (const { key, index } of unstarted) {
    // A trial that was to run again and did not come to it has its earlier result.
    const earlier = session?.settled.get(key)?.result;
    if (earlier) voice.kept(toUnit(earlier));
    else skipped.push(index);
  }
  tally.skip(skipped);
  endedAt = clock.now();
  const { result, failure } = await recorder.close();
  const unwritten =
    failure ?? (await journal.append(endedLine(result, endedAt, skipped)).catch((error: unknown) => error)) ?? null;
  const { cwd } = options.host;
  const raised = raiseAfterRun(prepared, session, result, tally, unstarted.length);
  const again = unstarted.length > skipped.length ? (session?.retryFailed ?? []) : [];
  const isDone = isWhole(result, unwritten === null) && !hasRest;
  const resume = isDone ? null : resumeCommand(paths.dir, cwd, raised, again);
  const notes = describeRaised(raised);
  const next = nextCommands(paths.dir, cwd, failedKey, resume);
  voice.emit({ type: "run_finished", at: endedAt, tail: tailOf(result, next, notes) });
  return { dir: paths.dir, result, kept, leftBehind, unwritten, resume, notes };
}

function trialContext(
  { job, provider, redactor, secrets }: PreparedJob,
  options: RunJobOptions,
  { name, paths, log, journal }: JobOutput,
  voice: RunVoice,
  ends: { readonly leftBehind: string[]; readonly stopping: StopSwitch; readonly recorder: JobRecorder },
): TrialContext {
  const { clock, signal, forceSignal, session } = options;
  const inputs = session?.inputs ?? new JobInputs(job);
  const onRead: OnTaskRead = ({ datasetName: dataset, name: task, directory }, digest) => {
    ends.recorder.note({ type: "task_read", dataset, task, ...digest });
    if (directory !== null) void keepTaskTexts(paths.tasks, directory, digest, redactor);
  };
  const labels = environmentLabels(options, name);
  const images = new ImageShelf({
    provider,
    retry: job.retry,
    clock,
    redactor,
    imagesDir: paths.images,
    outputLimitBytes: job.outputLimitBytes,
    labels,
    signal,
    onActivity: (line) => voice.activity(line),
  });
  const installs = new InstallCache({
    store: provider.snapshots ?? null,
    cacheDir: options.host.cacheDir,
    instructionPath: job.instructionPath,
    network: job.environment.network.agent,
    secrets,
    onWarning: (message) => voice.warn(message),
  });
  return {
    job,
    jobDir: paths.dir,
    provider,
    images,
    installs,
    clock,
    redactor,
    log,
    emit: voice.emit,
    inputsOf: ({ agent, task }) => inputs.of(agent.name, task, signal, onRead),
    reopen: (trial) => reopenTrial(trial, session, { paths, journal, redactor }),
    labels,
    signal,
    forceSignal,
    enterCommandOf: (dir) =>
      provider.capabilities.stop && provider.capabilities.shell ? enterCommand(dir, options.host.cwd) : null,
    onLeftBehind: (id) => ends.leftBehind.push(id),
    // Trials whose results nobody could read again would only cost time and money.
    onDiskFull: (error) =>
      ends.stopping.stop(new AbortReason("internal", `the disk takes nothing more: ${messageOf(error)}`)),
  };
}

function groupLimits({ job, datasets }: PreparedJob): Map<string, number> {
  const limits = new Map<string, number>();
  for (const agent of job.agents) if (agent.nConcurrent !== null) limits.set(`agent:${agent.name}`, agent.nConcurrent);
  for (const dataset of datasets)
    if (dataset.nConcurrent !== null) limits.set(`dataset:${dataset.name}`, dataset.nConcurrent);
  return limits;
}
