import { createFailure } from "../../store/failure.ts";
import { mkdirSync } from "node:fs";
import { formatProblem } from "../../base/problem.ts";
import { isDiskFull, messageOf, RolloutError } from "../../base/rollout-error.ts";
import { RetryBudget, retryTransient } from "../../engine/retry.ts";
import type { Slot } from "../../engine/window.ts";
import { endTurn } from "../installs/end-turn.ts";
import { trialPaths } from "../output/job-paths.ts";
import { keepCallEvidence, keepTryEvidence, writeTrialError, writeTrialResult } from "../output/trial-files.ts";
import type { TrialResultFile } from "../output/trial-result-schema.ts";
import { readAgentUsage } from "./collect-logs.ts";
import { EnvironmentLease } from "./environment-lease.ts";
import { causeOf, describeThrown, failureOf, type Failure } from "./failure.ts";
import { planLimits, planResources } from "./limits.ts";
import { PhaseClock } from "./phase-clock.ts";
import { runTry, type TryOutcome } from "./run-try.ts";
import { trialLabels, type Trial } from "./trial.ts";
import type { TrialContext } from "./trial-context.ts";
import { TrialLedger } from "./trial-ledger.ts";
import type { TryState } from "./try-state.ts";

/** Called with the result as soon as it exists, before the environment is given back. */
export type OnResult = (result: TrialResultFile) => Promise<void>;

/** Runs one trial to its end and returns its result, which is on disk by then. Never throws. */
export async function runTrial(
  trial: Trial,
  context: TrialContext,
  slot: Slot,
  onResult: OnResult,
): Promise<TrialResultFile> {
  const ledger = new TrialLedger(trial, context);
  context.emit({ type: "unit_started", at: context.clock.now(), key: trial.key, labels: trialLabels(trial) });
  try {
    mkdirSync(trialPaths(context.jobDir, trial.key).dir, { recursive: true });
    const earlier = await context.reopen(trial);
    ledger.begin(await context.inputsOf(trial), earlier);
    return await runTries(trial, context, slot, ledger, onResult, earlier?.count ?? 0);
  } catch (thrown) {
    // A bug of Rollout or a full disk: the trial still has a result, if only in the journal.
    context.log.write("error", "a trial ended unexpectedly", { trial: trial.key, error: describeThrown(thrown) });
    if (isDiskFull(thrown)) context.onDiskFull(thrown);
    const failure = { ...failureOf(thrown, "start"), type: "internal_error" as const };
    const result =
      ledger.amended(`not everything of it could be written: ${messageOf(thrown)}`) ??
      ledger.result({ reward: null, failure });
    await onResult(result).catch(() => {});
    return result;
  }
}

async function runTries(
  trial: Trial,
  context: TrialContext,
  slot: Slot,
  ledger: TrialLedger,
  onResult: OnResult,
  earlierTries: number,
): Promise<TrialResultFile> {
  const { job, clock, redactor, emit } = context;
  const paths = trialPaths(context.jobDir, trial.key);
  const { task, refusal } = trial;
  if (refusal || task.status === "broken") return refuse(trial, context, ledger, onResult);

  const budget = new RetryBudget(job.retry);
  const limits = planLimits(job, task.config);
  const waitToRetry = async (
    waitMs: number,
    failed: Failure,
    phases: PhaseClock,
    over?: Promise<void>,
  ): Promise<void> => {
    const { type } = failed;
    const message = redactor.text(failed.message);
    const failure = createFailure({ type, message, phase: phases.last, cause: causeOf(failed) });
    emit({ type: "unit_retry", at: clock.now(), key: trial.key, tries: budget.used, waitMs, failure });
    await slot.lendWhile(() => over ?? clock.sleep(waitMs, context.signal));
  };
  const keepCall = async (error: unknown): Promise<void> => {
    ledger.countRetry();
    await keepCallEvidence(paths, earlierTries + budget.used, describeThrown(error), redactor);
  };
  for (let lost = 0; ; lost++) {
    const state: TryState = {
      context,
      trial,
      task,
      paths,
      limits,
      resources: planResources(job, task.config),
      phases: new PhaseClock(clock, (phase) => emit({ type: "unit_phase", at: clock.now(), key: trial.key, phase })),
      onLine: (line) => emit({ type: "unit_activity", at: clock.now(), key: trial.key, line: redactor.text(line) }),
      onWait: (words) => {
        const [at, line] = [clock.now(), redactor.text(words)];
        emit({ type: "unit_activity", at, key: trial.key, line });
        emit({ type: "run_activity", at, line: `${trial.id} ${line}`, key: trial.key });
      },
      warn: (message) => ledger.warn(message),
      distrust: (reason) => ledger.distrust(reason),
      retry: async (call) => {
        const answer = await retryTransient(
          () => unlessLost(call),
          budget,
          async (waitMs, error) => {
            // A waiting trial lends its slot. Without this, the borrower could wait for its install for ever.
            endTurn(state);
            await keepCall(error);
            await waitToRetry(waitMs, failureOf(error, state.step), state.phases);
          },
        );
        if ("lost" in answer) throw answer.lost;
        return answer.value;
      },
      obtainImage: (plan) =>
        context.images.obtain(plan, limits.imageMs, context.signal, async ({ error, waitMs, over }) => {
          budget.take(error);
          await keepCall(error);
          await waitToRetry(waitMs, failureOf(error, state.step), state.phases, over);
        }),
      lost,
      install: { kind: "fresh" },
      step: "build",
      verifierEnvironment: null,
      isCollected: false,
      leftovers: [],
      roomLeftBytes: null,
      changedTools: [],
      areLeftoversEnded: false,
    };
    ledger.beginTry(state);
    const end = await endTry(state, ledger, budget, slot, onResult);
    if (end.kind === "finished") return end.result;
    ledger.countRetry();
    await keepTryEvidence(paths, earlierTries + budget.used, end.failure.detail, redactor);
    try {
      await waitToRetry(end.waitMs, end.failure, state.phases);
    } catch (thrown) {
      return await finish(ledger, context, paths, { reward: null, failure: failureOf(thrown, "start") }, onResult);
    }
  }
}

type TryEnd =
  | { readonly kind: "finished"; readonly result: TrialResultFile }
  | { readonly kind: "again"; readonly waitMs: number; readonly failure: Failure };

async function endTry(
  state: TryState,
  ledger: TrialLedger,
  budget: RetryBudget,
  slot: Slot,
  onResult: OnResult,
): Promise<TryEnd> {
  const { context, paths } = state;
  const lease = new EnvironmentLease(context, context.enterCommandOf(paths.dir));
  let end: TryEnd;
  {
    await using _lease = lease;
    const outcome = await runTry(state, lease);
    ledger.endTry(outcome, lease.cost(), await readAgentUsage(paths, state.warn));
    const waitMs = isLost(outcome.thrown) ? budget.take(outcome.thrown) : null;
    if (waitMs !== null && outcome.failure) end = { kind: "again", waitMs, failure: outcome.failure };
    else {
      end = { kind: "finished", result: await finish(ledger, context, paths, outcome, onResult) };
      if (shouldKeep(context.job.environment.preserveEnv, outcome)) lease.keep();
      else if (context.provider.capabilities.removalOverlaps) slot.leave();
    }
    ledger.beginTeardown();
  }
  if (end.kind === "again") {
    for (const problem of lease.report.problems) state.warn(problem);
    return end;
  }
  const result = ledger.tornDown(lease.report);
  if (lease.report.problems.length > 0) {
    const earlier = ledger.failure ? `${ledger.failure.type}\n${ledger.failure.detail}\n\n` : "";
    await writeTrialError(
      paths,
      `${earlier}environment_teardown_failed\n${lease.report.problems.join("\n")}`,
      context.redactor,
    );
  }
  await writeTrialResult(paths, result, context.redactor);
  return { kind: "finished", result };
}

async function finish(
  ledger: TrialLedger,
  context: TrialContext,
  paths: ReturnType<typeof trialPaths>,
  outcome: Pick<TryOutcome, "reward" | "failure">,
  onResult: OnResult,
): Promise<TrialResultFile> {
  const result = ledger.result(outcome);
  if (outcome.failure)
    await writeTrialError(paths, `${outcome.failure.type}\n${outcome.failure.detail}`, context.redactor);
  await writeTrialResult(paths, result, context.redactor);
  await onResult(result);
  return result;
}

async function refuse(
  trial: Trial,
  context: TrialContext,
  ledger: TrialLedger,
  onResult: OnResult,
): Promise<TrialResultFile> {
  const { task, refusal } = trial;
  const broken = task.status === "broken" ? task : null;
  const type = refusal?.type ?? broken?.failureType ?? "task_invalid";
  const message = refusal?.message ?? broken?.message ?? "the task cannot be run";
  const problems = broken?.problems.map(formatProblem) ?? [];
  const failure: Failure = { type, message, cause: null, detail: problems.length > 0 ? problems.join("\n") : message };
  return finish(ledger, context, trialPaths(context.jobDir, trial.key), { reward: null, failure }, onResult);
}

// Retrying a call does not help when the environment is gone.
async function unlessLost<T>(call: () => Promise<T>): Promise<{ readonly value: T } | { readonly lost: RolloutError }> {
  try {
    return { value: await call() };
  } catch (error) {
    if (isLost(error)) return { lost: error };
    throw error;
  }
}

function isLost(thrown: unknown): thrown is RolloutError {
  return thrown instanceof RolloutError && thrown.code === "environment_lost";
}

function shouldKeep(policy: string, { reward, failure }: TryOutcome): boolean {
  if (policy === "always") return true;
  if (policy === "never" || failure?.type === "trial_cancelled") return false;
  return failure !== null || (reward !== null && reward < 1);
}
