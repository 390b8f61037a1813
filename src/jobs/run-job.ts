import { readOwner } from "../base/process-owner.ts";
import { redactValue } from "../base/redactor.ts";
import { messageOf } from "../base/rollout-error.ts";
import { shownPath } from "../base/shown-path.ts";
import { AbortReason } from "../engine/abort-reason.ts";
import { Gate } from "../engine/gate.ts";
import { runWindow } from "../engine/window.ts";
import { removeAbandoned } from "./remove-abandoned.ts";
import { BudgetWatch } from "./budget-watch.ts";
import {
  budgetOf,
  describeSession,
  endedLine,
  enterCommand,
  environmentLabels,
  nextCommands,
  ownerOf,
  resumeCommand,
  startedLine,
} from "./describe-run.ts";
import { InstallCache } from "./installs/install-cache.ts";
import { JobInputs, type OnTaskRead } from "./inputs/job-inputs.ts";
import { keepTaskTexts } from "./inputs/task-texts.ts";
import { trialPaths } from "./output/job-paths.ts";
import { JobRecorder } from "./output/job-recorder.ts";
import { JobRegistration } from "./output/job-registration.ts";
import type { Artifact, Run } from "../store/run.ts";
import type { JobRun, RunJobOptions } from "./job-run.ts";
import type { JobResultFile } from "./output/job-result-schema.ts";
import { JobTally, type TallyEnd } from "./output/job-tally.ts";
import { openJobOutput, type JobOutput } from "./output/open-job-output.ts";
import { plannedTrialsOf } from "./planned-trials-of.ts";
import { endedStatus, isComplete, toRun } from "./output/to-run.ts";
import { listArtifacts } from "./output/trial-artifacts.ts";
import { isFailed } from "./output/trial-result-schema.ts";
import { toUnit } from "./output/trial-unit.ts";
import type { PreparedJob } from "./prepare-job.ts";
import { reopenTrial, takeUp } from "./resume/take-up.ts";
import { PauseWatch } from "./pause-watch.ts";
import { reportFinishedJob } from "./report-finished-job.ts";
import { describeRaised } from "./raise-budget.ts";
import { raiseAfterRun, refuseSpentBudget } from "./spent-budget.ts";
import { JobEvents } from "./job-events.ts";
import { StopSwitch } from "./stop-switch.ts";
import { ImageShelf } from "./trial/image-shelf.ts";
import { runTrial } from "./trial/run-trial.ts";
import type { Trial } from "./trial/trial.ts";
import type { TrialContext } from "./trial/trial-context.ts";

/** Runs a prepared job to its end. Every result is on disk then, whatever happened. Rejects if its budget is spent before the start. */
export async function runPreparedJob(prepared: PreparedJob, options: RunJobOptions): Promise<JobRun> {
  const { job, redactor, trials: plan } = prepared;
  const { clock, signal, session } = options;
  if (session?.isIdle) return reportFinishedJob(prepared, session, options);
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
        earlier: session,
        acceptedChanges: session?.changes.map(({ what }) => what) ?? [],
      }),
  });
  const { name, paths, log, journal } = output;
  const events = new JobEvents(clock, redactor, log, options.onEvent);
  let running = 0;
  let endedAt: number | null = null;
  let hasRest = true;
  using stopping = new StopSwitch(
    signal,
    (reason) =>
      void events.emit({
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
    // Reaching the budget with the last trial does not count as stopped by budget.
    isStoppedByBudget: stopping.isSpent && hasRest,
    warnings: events.warnings,
  });
  const gate = new Gate();
  const planned = plannedTrialsOf(plan);
  const budgetPlan = budgetOf(prepared, session);
  // Without secrets from the start: texts are cut later, and half a secret is not recognised.
  const runOf = (result: JobResultFile, notes: readonly string[] = []): Run =>
    redactValue(
      toRun({
        started: output.started,
        plan: planned,
        result,
        hasEnded: endedAt !== null,
        status: endedAt !== null ? endedStatus(result) : gate.isOpen ? "running" : "paused",
        owner: endedAt !== null ? null : { pid: options.host.pid, hostname: options.host.hostname },
        location: shownPath(paths.dir, options.host.cwd),
        budget: budgetPlan,
        notes,
      }),
      redactor,
    );
  const listTrialFiles = (key: string): Promise<readonly Artifact[]> => listArtifacts(trialPaths(paths.dir, key).dir);
  await using registration = options.registry
    ? new JobRegistration({
        store: options.registry,
        owner: readOwner(options.host),
        clock,
        keys: plan.map(({ key }) => key),
        // A store may be read from another working directory.
        currentRun: () => ({ ...runOf(tally.result(state())), location: paths.dir }),
        listArtifacts: listTrialFiles,
        onFailure: (message) => events.warn(message),
      })
    : null;
  using recorder = new JobRecorder({
    paths,
    journal,
    tally,
    clock,
    redactor,
    log,
    state,
    toRun: runOf,
    registration,
  });
  void events.emit({ type: "run_started", at: startedAt, run: runOf(tally.result(state())) });
  for (const warning of [...prepared.warnings, ...(session?.warnings ?? [])]) events.warn(warning);
  using budget = new BudgetWatch({
    budget: job.budget,
    clock,
    earlierSec: earlierSessions.reduce((sum, { duration_sec: sec }) => sum + sec, 0),
    onWarning: (message) => events.warn(message),
    onSpent: (reason) => stopping.stop(reason),
  });
  const leftBehind: string[] = [];
  let failedKey: string | null = null;
  const kept: { readonly id: string; readonly enter: string | null }[] = [];
  const context = trialContext(prepared, options, output, events, { leftBehind, stopping, recorder });

  const restored = session && (await takeUp(session, { plan, paths, journal, redactor, tally, events }));
  await recorder.start();
  registration?.start();
  if (restored) {
    registration?.restore(restored);
    recorder.touch();
  }
  const spend = (): void => budget.spend(tally.spent());
  const units = session?.trials ?? plan;
  if (units.length > 0) spend();
  using _pausing = new PauseWatch({
    file: paths.pause,
    gate,
    onChange: (isPaused) => {
      void events.emit({ type: isPaused ? "run_paused" : "run_continued", at: clock.now() });
      // The gate opens after this call.
      queueMicrotask(() => void recorder.writeRun());
    },
  });
  const reaping = removeAbandoned(prepared.provider, options, events);
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
        // Now, not at the end: the next trial may start while the environment of this one is removed.
        spend();
        await recorded;
      });
      running--;
      const unit = toUnit(redactValue(result, redactor), trial.index, await listTrialFiles(trial.key));
      recorder.count(trial.index, result, unit);
      if (isFailed(result)) failedKey ??= trial.key;
      kept.push(...(result.teardown?.kept ?? []));
      events.finished(unit);
    },
  });

  hasRest = unstarted.length > 0;
  await reaping;
  await context.images.settle(options.forceSignal);
  const skipped: number[] = [];
  for (const { key, index } of unstarted) {
    // A trial that was not run again keeps its earlier result.
    const earlier = session?.settled.get(key)?.result;
    if (earlier) events.restored(toUnit(earlier, index));
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
  const isDone = isComplete(result, unwritten === null) && !hasRest;
  const resume = isDone ? null : resumeCommand(paths.dir, cwd, raised, again);
  const notes = describeRaised(raised);
  const next = nextCommands(paths.dir, cwd, failedKey, resume);
  const lastRun = { ...runOf(result, notes), isResumable: resume !== null };
  await recorder.writeRun(lastRun);
  await registration?.end({ ...lastRun, location: paths.dir });
  await events.emit({ type: "run_finished", at: endedAt, run: lastRun, next });
  return { dir: paths.dir, result, run: lastRun, kept, leftBehind, unwritten, resume, notes };
}

function trialContext(
  { job, provider, redactor, secrets }: PreparedJob,
  options: RunJobOptions,
  { name, paths, log, journal }: JobOutput,
  events: JobEvents,
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
    onActivity: (line) => events.activity(line),
  });
  const installs = new InstallCache({
    store: provider.snapshots ?? null,
    cacheDir: options.host.cacheDir,
    instructionPath: job.instructionPath,
    network: job.environment.network.agent,
    secrets,
    onWarning: (message) => events.warn(message),
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
    emit: (event) => void events.emit(event),
    inputsOf: ({ agent, task }) => inputs.of(agent.name, task, signal, onRead),
    reopen: (trial) => reopenTrial(trial, session, { paths, journal, redactor }),
    labels,
    signal,
    forceSignal,
    enterCommandOf: (dir) =>
      provider.capabilities.stop && provider.capabilities.shell ? enterCommand(dir, options.host.cwd) : null,
    onLeftBehind: (id) => ends.leftBehind.push(id),
    // Trials whose results cannot be stored only cost time and money.
    onDiskFull: (error) => ends.stopping.stop(new AbortReason("internal", `the disk is full: ${messageOf(error)}`)),
  };
}

function groupLimits({ job, datasets }: PreparedJob): Map<string, number> {
  const limits = new Map<string, number>();
  for (const agent of job.agents) if (agent.nConcurrent !== null) limits.set(`agent:${agent.name}`, agent.nConcurrent);
  for (const dataset of datasets)
    if (dataset.nConcurrent !== null) limits.set(`dataset:${dataset.name}`, dataset.nConcurrent);
  return limits;
}
