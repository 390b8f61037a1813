import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Environment, Placement } from "../../environments/environment.ts";
import { scratchDir } from "../agents/script-agent.ts";
import type { NonzeroExit } from "../config/job.ts";
import { callEnvironment } from "./call-environment.ts";
import { compareTests } from "./compare-tests.ts";
import { collectLogs } from "./collect-logs.ts";
import type { Failure } from "./failure.ts";
import { mostCopiedEntries } from "./limits.ts";
import { readReward } from "./reward.ts";
import { RewardWitness } from "./reward-witness.ts";
import { runCaptured } from "./run-captured.ts";
import { failureOfEnd, warningOfEnd } from "./step-end.ts";
import type { TryState } from "./try-state.ts";
import { VerifierTrouble } from "./verifier-trouble.ts";

export interface VerifierOutcome {
  readonly reward: number | null;
  readonly failure: Failure | null;
}

/** What the verifier's environment must hold before it starts; nothing the agent left in these places survives. */
export function verifierPlacements(taskDirectory: string): Placement[] {
  return [
    { kind: "tree", source: join(taskDirectory, "tests"), target: "/tests" },
    { kind: "directory", target: "/logs/verifier" },
    { kind: "remove", target: scratchDir },
  ];
}

/** Runs test.sh, holds the environment still, collects `/logs` and reads the reward. */
export async function runVerifier(
  state: TryState,
  environment: Environment,
  isSeparate: boolean,
): Promise<VerifierOutcome> {
  const { context, trial, limits } = state;
  const { agent, verifier: network } = context.job.environment.network;
  const inForce = isSeparate ? "full" : agent;
  if (network !== inForce)
    await callEnvironment(context, "setting the network", (signal) => environment.setNetwork(network, signal));
  const trouble = new VerifierTrouble();
  const witness = new RewardWitness();
  // Without a real shell there is nobody to bear witness.
  const hasShell = context.provider.capabilities.shell;
  const end = await runCaptured({
    context,
    environment,
    command: hasShell ? witness.command : ["bash", "/tests/test.sh"],
    env: { ...trial.verifierEnv, ROLLOUT_TASK_INSTRUCTION: context.job.instructionPath },
    dir: state.paths.verifierLogs,
    limitMs: limits.verifyMs,
    what: "the verifier",
    onLine: state.onLine,
    warn: state.warn,
    watch: (sink, stream) => (stream === "stdout" ? witness.watch(trouble.watch(sink)) : trouble.watch(sink)),
  });
  // From here on nothing inside may change what is read.
  if (context.provider.capabilities.freeze)
    await callEnvironment(context, "freezing", (signal) => environment.freeze(signal));
  else await callEnvironment(context, "ending processes", (signal) => environment.killProcesses(signal));
  const hasOthers = !isSeparate && state.leftovers.length > 0 && !state.areLeftoversEnded && hasShell;
  if (hasOthers) await compareTests(state, environment);
  const report = await collectLogs(state, environment, isSeparate ? "verifier" : "");
  state.isCollected = true;
  for (const warning of trouble.warnings()) state.warn(warning);

  const warning = warningOfEnd(end, "the test script", state.resources);
  if (warning !== null) state.warn(warning);
  const failure = failureOfEnd(end, "the test script", "verifier_failed", state.resources);
  if (failure && nonzeroExit(state) === "error") return { reward: null, failure };
  const reading = await readReward(state.paths.logs, report, witness.reward);
  if (reading.isChanged) state.distrust("reward.txt was changed after the tests had ended; what it held then counts");
  if ("reward" in reading) return { reward: reading.reward, failure: null };
  return {
    reward: null,
    failure: failure
      ? { ...reading.failure, message: `${reading.failure.message}; ${failure.message}` }
      : reading.failure,
  };
}

function nonzeroExit({ context, task }: TryState): NonzeroExit {
  return context.job.verifier.nonzeroExit ?? task.config.verifier.nonzeroExit ?? "error";
}

/** Copies what a separate verifier may see from the agent's environment into a fresh one. */
export async function transferPaths(state: TryState, from: Environment, to: Environment): Promise<void> {
  const { context, task, paths, resources } = state;
  const wanted = context.job.verifier.paths ?? task.config.verifier.paths ?? [from.workdir];
  const limits = { entries: mostCopiedEntries, bytes: resources.storageBytes };
  const staging = await mkdtemp(join(paths.dir, ".transfer-"));
  try {
    for (const [index, path] of wanted.entries()) {
      const source = join(staging, String(index));
      try {
        const report = await callEnvironment(context, `copying ${path}`, (signal) =>
          from.copyFrom({ source: path, target: source, limits, signal }),
        );
        for (const refused of report.refused)
          state.warn(`${path}/${refused.path} did not reach the verifier: ${refused.reason}`);
      } catch (error) {
        if (!(error instanceof RolloutError && error.code === "not_found")) throw error;
        state.warn(`${path} does not exist after the agent ended; the verifier does not get it`);
        continue;
      }
      await callEnvironment(context, `copying ${path}`, (signal) =>
        to.copyTo([{ kind: "tree", source, target: path }], signal),
      );
    }
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}
