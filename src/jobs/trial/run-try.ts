import { readFile, rm } from "node:fs/promises";
import { join, relative } from "node:path";
import { isDiskFull, messageOf, RolloutError } from "../../base/rollout-error.ts";
import { loaderCachePath, type Environment, type Placement, type ProcessInfo } from "../../environments/environment.ts";
import { startDeadline } from "../../engine/deadline.ts";
import { withDeadline } from "../../engine/with-deadline.ts";
import type { Workspace } from "../agents/agent-step.ts";
import { findAgent } from "../agents/find-agent.ts";
import { bakeInstall } from "../installs/bake-install.ts";
import { endTurn } from "../installs/end-turn.ts";
import { blameAgent } from "./blame-agent.ts";
import { blameFullDisk } from "./blame-full-disk.ts";
import { callEnvironment } from "./call-environment.ts";
import { collectLogs, redactReward } from "./collect-logs.ts";
import type { EnvironmentLease } from "./environment-lease.ts";
import { failureOf, type Failure, type FailureType, type Step } from "./failure.ts";
import { collectLimitMs, lateLimitMs } from "./limits.ts";
import { missingShell } from "./missing-shell.ts";
import { openCapture, runCaptured } from "./run-captured.ts";
import { recordChanges } from "./record-changes.ts";
import { setDecoy } from "./set-decoy.ts";
import { placeBesideLeftovers } from "./place-beside-leftovers.ts";
import { runVerifier, transferPaths, verifierPlacements, type VerifierOutcome } from "./run-verifier.ts";
import { failureOfEnd, warningOfEnd } from "./step-end.ts";
import type { TryState } from "./try-state.ts";

export interface TryOutcome extends VerifierOutcome {
  /** What was thrown, when the failure came from a throw; decides about a retry. */
  readonly thrown: unknown;
  readonly environment: Environment | null;
}

/** Takes a trial through its phases once. Never throws: whatever goes wrong is the outcome. */
export async function runTry(state: TryState, lease: EnvironmentLease): Promise<TryOutcome> {
  let environment: Environment | null = null;
  let outcome: VerifierOutcome & { readonly thrown: unknown };
  try {
    environment = await setUpEnvironment(state, lease);
    const failure = (await setUpAgent(state, environment)) ?? (await executeAgent(state, environment));
    warnOfRefusals(state, environment);
    const marked = failure ? { reward: null, failure } : await verify(state, environment, lease);
    const blamed = marked.failure && (await blameAgent(marked.failure, undefined, state, environment));
    outcome = { ...marked, failure: blamed && blameFullDisk(blamed, state), thrown: undefined };
  } catch (thrown) {
    const told = withImageLog(failureOf(thrown, state.step), state);
    const failure = blameFullDisk(await blameAgent(told, thrown, state, environment), state);
    outcome = { reward: null, failure, thrown };
    if (isDiskFull(thrown)) state.context.onDiskFull(thrown);
  } finally {
    endTurn(state);
  }
  state.phases.end();
  if (environment) warnOfRefusals(state, state.verifierEnvironment ?? environment);
  if (environment && !state.isCollected) await collectAfterFailure(state, environment, outcome.failure);
  await redactReward(state.paths, state.context.redactor);
  return { ...outcome, environment };
}

// Whoever looks into a build that failed needs all that it said, and the same image may serve many trials.
function withImageLog(failure: Failure, { context, trial, step }: TryState): Failure {
  const log = trial.image && (step === "build" || step === "pull") ? context.images.logOf(trial.image) : null;
  if (log === null) return failure;
  return { ...failure, detail: `${failure.detail}\nlog: ${relative(context.jobDir, log)}` };
}

async function setUpEnvironment(state: TryState, lease: EnvironmentLease): Promise<Environment> {
  const { context, trial } = state;
  state.phases.begin("environment_setup");
  const plan = trial.image;
  if (!plan) throw new Error(`trial ${trial.key} was started without an image plan`);
  state.step = plan.kind === "pull" ? "pull" : "build";
  const image = await state.obtainImage(plan);
  state.step = "start";
  const place: Placement[] = [
    { kind: "directory", target: "/logs/agent" },
    { kind: "directory", target: "/logs/verifier" },
    await readInstruction(state),
  ];
  state.install = await context.installs.take(trial.agent, image, context.signal);
  const start = state.install.kind === "cached" ? state.install.ref : image;
  return createEnvironment(state, lease, start, place, "");
}

async function readInstruction({ context, task }: TryState): Promise<Placement> {
  const content = await readFile(join(task.directory, "instruction.md"));
  return { kind: "file", content, target: context.job.instructionPath, mode: 0o644 };
}

async function createEnvironment(
  state: TryState,
  lease: EnvironmentLease,
  image: string,
  place: readonly Placement[],
  suffix: string,
): Promise<Environment> {
  const { context, trial, limits } = state;
  return state.retry(async () => {
    using deadline = startDeadline({
      clock: context.clock,
      limitMs: Math.max(limits.startMs, context.provider.startLimitMs ?? 0),
      parent: context.signal,
      what: "starting the environment",
    });
    return await lease.create({
      image,
      // One that was lost may not be gone yet when the next is made.
      name: `${trial.id}${state.lost === 0 ? "" : `-r${state.lost}`}${suffix}`,
      limits: state.resources,
      place,
      labels: { ...context.labels, "rollout.trial": trial.id, "rollout.trial-key": trial.key },
      onWait: state.onWait,
      signal: deadline.signal,
    });
  });
}

async function setUpAgent(state: TryState, environment: Environment): Promise<Failure | null> {
  const { context, trial, task, limits } = state;
  const { setup } = findAgent(trial.agent, task.directory);
  if (setup) state.phases.begin("agent_setup");
  const { agent: network } = context.job.environment.network;
  if (network !== "full")
    await state.retry(() =>
      callEnvironment(context, "setting the network", (signal) => environment.setNetwork(network, signal)),
    );
  if (!setup || state.install.kind === "cached") {
    await using capture = await openCapture(context, state.paths.setup, state.warn);
    if (state.install.kind === "cached") await capture.stdout.write(Buffer.from(cachedNote(state.install.ref)));
    else state.phases.pass("agent_setup");
    return null;
  }
  const step = openWorkspace(state, environment, {
    step: "install",
    dir: state.paths.setup,
    limitMs: limits.installMs,
    what: "agent install",
    failureType: "agent_install_failed",
    isFirst: true,
  });
  await setup(step.workspace);
  const failure = step.failure();
  if (failure === null && state.install.kind === "bake")
    await bakeInstall(state, environment, state.install, await readInstruction(state));
  endTurn(state);
  return failure;
}

function cachedNote(ref: string): string {
  return `The install did not run in this trial: the environment was started from what an earlier run of it left (${ref}).\n`;
}

async function executeAgent(state: TryState, environment: Environment): Promise<Failure | null> {
  const { context, trial, task, limits } = state;
  state.phases.begin("agent_execution");
  if (state.step === "install") state.step = "execute";
  const { setup, execute } = findAgent(trial.agent, task.directory);
  const step = openWorkspace(state, environment, {
    step: "execute",
    dir: state.paths.command,
    limitMs: limits.executeMs,
    what: "agent execution",
    failureType: "agent_execution_failed",
    isFirst: setup === null,
  });
  await execute(step.workspace);
  // Both files are there even if the agent never ran a command.
  if (!step.hasRun()) await (await openCapture(context, state.paths.command, state.warn))[Symbol.asyncDispose]();
  state.step = "execute";
  return step.failure();
}

interface WorkspaceOptions {
  readonly step: Step;
  readonly dir: string;
  readonly limitMs: number;
  readonly what: string;
  readonly failureType: FailureType;
  /** Nothing of the agent's has run before. */
  readonly isFirst: boolean;
}

function openWorkspace(
  state: TryState,
  environment: Environment,
  options: WorkspaceOptions,
): { workspace: Workspace; failure: () => Failure | null; hasRun: () => boolean } {
  const { context, trial } = state;
  let failure: Failure | null = null;
  let hasRun = false;
  const workspace: Workspace = {
    place(items) {
      const copy = (): Promise<void> =>
        callEnvironment(context, "copying files", (signal) => environment.copyTo(items, signal));
      return hasRun ? copy() : state.retry(copy);
    },
    async run(command) {
      hasRun = true;
      // Until its first command runs, what fails is the environment's start and not the agent.
      state.step = options.step;
      const end = await runCaptured({
        context,
        environment,
        command,
        env: { ...trial.agent.env, ROLLOUT_TASK_INSTRUCTION: context.job.instructionPath },
        dir: options.dir,
        limitMs: options.limitMs,
        what: options.what,
        onLine: state.onLine,
        warn: state.warn,
      });
      const warning = warningOfEnd(end, options.what, state.resources);
      if (warning !== null) state.warn(warning);
      failure =
        (options.isFirst ? await missingShell(state, environment, end) : null) ??
        failureOfEnd(end, options.what, options.failureType, state.resources);
      return failure === null;
    },
  };
  return { workspace, failure: () => failure, hasRun: () => hasRun };
}

function isVerifiedApart({ context, task }: TryState): boolean {
  return (context.job.verifier.environment ?? task.config.verifier.environment) === "separate";
}

function looksAtTools(state: TryState): boolean {
  return !state.context.job.verifier.disable && !isVerifiedApart(state);
}

async function verify(state: TryState, environment: Environment, lease: EnvironmentLease): Promise<VerifierOutcome> {
  const { context, task, trial } = state;
  const { job } = context;
  const isKilled = (job.verifier.leftovers ?? task.config.verifier.leftovers) === "kill";
  const isSeparate = isVerifiedApart(state);
  const list = (): Promise<readonly ProcessInfo[]> =>
    callEnvironment(context, "listing processes", (signal) => environment.listProcesses(signal));
  // What is about to be ended may change them until then.
  const looking = looksAtTools(state) && !isKilled ? distrustTools(state, environment) : null;
  const recording = recordChanges(state, environment);
  try {
    [state.leftovers] = await Promise.all([list(), looking, isSeparate ? null : lookForRoom(state, environment)]);
  } finally {
    await recording;
  }
  if (isKilled && state.leftovers.length > 0)
    await callEnvironment(context, "ending processes", (signal) => environment.killProcesses(signal));
  state.areLeftoversEnded = isKilled;
  if (job.verifier.disable) return { reward: null, failure: null };

  state.phases.begin("verifier");
  state.step = "verify";
  if (!isSeparate) {
    if (isKilled) await distrustTools(state, environment);
    if (!isKilled && state.leftovers.length > 0 && context.provider.capabilities.shell)
      await setDecoy(state, environment);
    await placeBesideLeftovers(state, environment, "copying the tests", verifierPlacements(task.directory));
    return runVerifier(state, environment, false);
  }
  // The agent's own logs come from its environment; the verifier's from the fresh one.
  await collectAgentLogs(state, environment);
  // What the agent wrote there ahead must not be taken for the verifier's.
  await rm(state.paths.verifierLogs, { recursive: true, force: true });
  const plan = trial.image;
  if (!plan) throw new Error(`trial ${trial.key} was started without an image plan`);
  const image = await state.obtainImage(plan);
  const fresh = await createEnvironment(
    state,
    lease,
    image,
    [{ kind: "directory", target: "/logs/agent" }, await readInstruction(state), ...verifierPlacements(task.directory)],
    "-v",
  );
  state.verifierEnvironment = fresh;
  await transferPaths(state, environment, fresh);
  return runVerifier(state, fresh, true);
}

function warnOfRefusals({ warn, step }: TryState, environment: Environment): void {
  const who = step === "verify" ? "the verifier" : "the agent";
  for (const target of environment.takeRefused?.() ?? []) warn(`${who} asked for ${target}, which is not allowed`);
}

async function lookForRoom(state: TryState, environment: Environment): Promise<void> {
  const look = async (signal: AbortSignal): Promise<number | null> => (await environment.freeBytes?.(signal)) ?? null;
  state.roomLeftBytes = await callEnvironment(state.context, "looking at the disk", look);
}

async function distrustTools(state: TryState, environment: Environment): Promise<void> {
  const look = async (signal: AbortSignal): Promise<readonly string[]> =>
    (await environment.changedTools?.(signal)) ?? [];
  state.changedTools = await callEnvironment(state.context, "inspecting the tools", look);
  const replaced = state.changedTools.filter((path) => path !== loaderCachePath);
  if (replaced.length > 0) state.distrust(`the agent changed ${replaced.join(", ")}, with which the tests run`);
}

async function collectAgentLogs(state: TryState, environment: Environment): Promise<void> {
  try {
    await collectLogs(state, environment, "");
  } catch (error) {
    if (!(error instanceof RolloutError) || error.code === "environment_lost") throw error;
    state.warn(`/logs could not be copied: ${error.message}`);
  }
}

async function collectAfterFailure(
  state: TryState,
  agentEnvironment: Environment,
  failure: Failure | null,
): Promise<void> {
  // The agent's own logs were taken before a separate verifier began.
  const environment = state.verifierEnvironment ?? agentEnvironment;
  const hasAnswered = failure === null || (await endProcesses(state, environment));
  // A verifier begins after the changes of the agent were recorded.
  const hasAgentFailed = failure !== null && (state.step === "install" || state.step === "execute");
  if (hasAgentFailed && hasAnswered) await recordChanges(state, environment);
  try {
    // An environment that answers late must not hold its trial much longer than its limit.
    const limitMs = hasAnswered ? collectLimitMs : lateLimitMs;
    await collectLogs(state, environment, state.verifierEnvironment ? "verifier" : "", limitMs);
  } catch (error) {
    if (isDiskFull(error)) state.context.onDiskFull(error);
    state.warn(`/logs could not be copied: ${messageOf(error)}`);
  }
}

// An agent that failed or was cut short must not go on writing while its logs are read.
async function endProcesses({ context, warn }: TryState, environment: Environment): Promise<boolean> {
  const { clock, forceSignal: parent } = context;
  const limit = { clock, limitMs: lateLimitMs, parent, what: "ending processes", graceMs: 1000 };
  try {
    await withDeadline(limit, (signal) => environment.killProcesses(signal));
    return true;
  } catch (error) {
    warn(`what the agent left running could not be ended: ${messageOf(error)}`);
    return false;
  }
}
