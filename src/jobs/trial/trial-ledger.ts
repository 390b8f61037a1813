import type { EarlierTries } from "../output/set-aside.ts";
import type { TrialInputsFile, TrialResultFile } from "../output/trial-result-schema.ts";
import type { AgentUsage } from "./collect-logs.ts";
import type { TeardownReport } from "./environment-lease.ts";
import { causeOf, type Failure } from "./failure.ts";
import type { PhaseName } from "./phase-clock.ts";
import type { TryOutcome } from "./run-try.ts";
import type { Trial } from "./trial.ts";
import type { TrialContext } from "./trial-context.ts";
import type { TryState } from "./try-state.ts";

// Further warnings are only counted.
const mostWarnings = 50;

/** Collects what happens in the tries of a trial and makes its result. */
export class TrialLedger {
  readonly #trial: Trial;
  readonly #context: TrialContext;
  readonly #startedAt: number;
  readonly #from: number;
  readonly #warnings: string[] = [];
  readonly #untrusted: string[] = [];
  #moreWarnings = 0;
  #tries = 1;
  #lostTries = 0;
  #inputs: TrialInputsFile = { task: null, agent: null, environment: null, settings: null };
  #state: TryState | undefined;
  #outcome: TryOutcome | undefined;
  #cost: number | null = 0;
  #usage: AgentUsage | null = null;
  #result: TrialResultFile | undefined;
  #teardownFrom = 0;
  failure: Failure | null = null;

  constructor(trial: Trial, context: TrialContext) {
    this.#trial = trial;
    this.#context = context;
    this.#startedAt = context.clock.now();
    this.#from = context.clock.monotonic();
  }

  /** Sets the inputs of the trial and what its tries in earlier sessions cost. */
  begin(inputs: TrialInputsFile, earlier: EarlierTries | null): void {
    this.#inputs = inputs;
    if (!earlier) return;
    const { count, result, lost } = earlier;
    this.#tries = count + 1;
    this.#lostTries = lost;
    this.#cost = result ? result.cost : 0;
    this.#usage = result && usageOf(result);
  }

  warn(message: string): void {
    if (this.#warnings.includes(message)) return;
    if (this.#warnings.length < mostWarnings) this.#warnings.push(message);
    else this.#moreWarnings++;
  }

  /** Adds a reason not to trust the reward. It is a warning, too. */
  distrust(reason: string): void {
    if (!this.#untrusted.includes(reason)) this.#untrusted.push(reason);
    this.warn(`untrusted: ${reason}`);
  }

  countRetry(): void {
    this.#tries++;
  }

  beginTry(state: TryState): void {
    this.#state = state;
    // Reasons found in a lost environment do not apply to the next one.
    this.#untrusted.length = 0;
  }

  endTry(outcome: TryOutcome, cost: number | null, usage: AgentUsage | null): void {
    this.#outcome = outcome;
    this.#cost = this.#cost === null || cost === null ? null : this.#cost + cost;
    this.#usage = addUsage(this.#usage, usage);
  }

  beginTeardown(): void {
    this.#teardownFrom = this.#context.clock.monotonic();
  }

  /** Returns the result before the environment is removed. */
  result({ reward, failure }: Pick<TryOutcome, "reward" | "failure">): TrialResultFile {
    const { clock } = this.#context;
    const { task, agent, attempt, datasetName, id } = this.#trial;
    this.failure = failure;
    const cost = this.#totalCost();
    this.#result = {
      task_name: task.name,
      dataset_name: datasetName,
      agent_name: agent.name,
      attempt,
      task_git_commit_id: task.gitCommitId,
      reward,
      cost,
      error: failure && {
        type: failure.type,
        message: failure.message,
        phase: this.#state?.phases.last ?? null,
        // Tests that the agent tampered with do not fail because of the task.
        cause:
          this.#untrusted.length > 0 && failure.type.startsWith("verifier_") && failure.cause === null
            ? "agent"
            : causeOf(failure),
      },
      durations: {
        total_sec: toSeconds(clock.monotonic() - this.#from),
        environment_setup_sec: this.#durationOf("environment_setup"),
        agent_setup_sec: this.#durationOf("agent_setup"),
        agent_execution_sec: this.#durationOf("agent_execution"),
        verifier_sec: this.#durationOf("verifier"),
      },
      timestamps: {
        started_at: toIso(this.#startedAt),
        environment_setup_started_at: this.#instantOf("environment_setup", "startedAt"),
        environment_setup_ended_at: this.#instantOf("environment_setup", "endedAt"),
        agent_setup_started_at: this.#instantOf("agent_setup", "startedAt"),
        agent_setup_ended_at: this.#instantOf("agent_setup", "endedAt"),
        agent_execution_started_at: this.#instantOf("agent_execution", "startedAt"),
        agent_execution_ended_at: this.#instantOf("agent_execution", "endedAt"),
        verifier_started_at: this.#instantOf("verifier", "startedAt"),
        verifier_ended_at: this.#instantOf("verifier", "endedAt"),
        ended_at: toIso(clock.now()),
      },
      agent_setup_cached: this.#state?.install.kind === "cached",
      trial_id: id,
      tries: this.#tries,
      warnings: this.#allWarnings(),
      untrusted: [...this.#untrusted],
      agent_usage: this.#usage && {
        cost_usd: this.#usage.costUsd,
        input_tokens: this.#usage.inputTokens,
        output_tokens: this.#usage.outputTokens,
      },
      task: {
        source: task.status === "ready" ? task.config.source : null,
        metadata: task.status === "ready" ? task.config.metadata : {},
        dataset_version: this.#trial.datasetVersion,
      },
      inputs: this.#inputs,
      environment: this.#outcome?.environment?.facts ?? null,
      leftovers: this.#state?.leftovers.map(({ pid, command }) => ({ pid, command })) ?? [],
      teardown: null,
    };
    return this.#result;
  }

  /** Returns the known result with one more warning; null if there is no result yet. */
  amended(warning: string): TrialResultFile | null {
    if (!this.#result) return null;
    this.warn(warning);
    this.#result = { ...this.#result, warnings: this.#allWarnings() };
    return this.#result;
  }

  /** Returns the result after the environment was removed, with the problems of the removal. */
  tornDown(report: TeardownReport): TrialResultFile {
    if (!this.#result) throw new Error("a trial was torn down before it had a result");
    for (const problem of report.problems) this.warn(problem);
    for (const id of report.unkept) this.warn(`environment ${id} could not be kept: it has no way back in`);
    const teardownError = {
      type: "environment_teardown_failed",
      message: report.problems.join("\n"),
      phase: "teardown",
      cause: "infrastructure",
    } as const;
    const hadEnvironment = this.#outcome?.environment !== null;
    this.#result = {
      ...this.#result,
      error: this.#result.error ?? (report.problems.length > 0 ? teardownError : null),
      warnings: this.#allWarnings(),
      teardown: hadEnvironment
        ? { duration_sec: toSeconds(this.#context.clock.monotonic() - this.#teardownFrom), kept: report.kept }
        : null,
    };
    return this.#result;
  }

  // An environment that is free now was free in a try that left no result.
  #totalCost(): number | null {
    if (this.#lostTries === 0 || this.#cost === 0) return this.#cost;
    this.warn(
      `what ${this.#lostTries === 1 ? "an interrupted try" : `${this.#lostTries} interrupted tries`} cost is not known`,
    );
    return null;
  }

  #allWarnings(): string[] {
    return this.#moreWarnings > 0 ? [...this.#warnings, `and ${this.#moreWarnings} more`] : [...this.#warnings];
  }

  #durationOf(phase: PhaseName): number | null {
    const times = this.#state?.phases.timesOf(phase);
    return times ? toSeconds(times.durationMs) : null;
  }

  #instantOf(phase: PhaseName, edge: "startedAt" | "endedAt"): string | null {
    const times = this.#state?.phases.timesOf(phase);
    return times ? toIso(times[edge]) : null;
  }
}

function usageOf({ agent_usage: usage }: TrialResultFile): AgentUsage | null {
  return usage && { costUsd: usage.cost_usd, inputTokens: usage.input_tokens, outputTokens: usage.output_tokens };
}

function addUsage(a: AgentUsage | null, b: AgentUsage | null): AgentUsage | null {
  if (!a || !b) return a ?? b;
  const add = (x: number | null, y: number | null): number | null => (x === null ? y : x + (y ?? 0));
  return {
    costUsd: add(a.costUsd, b.costUsd),
    inputTokens: add(a.inputTokens, b.inputTokens),
    outputTokens: add(a.outputTokens, b.outputTokens),
  };
}

function toIso(ms: number): string {
  return new Date(ms).toISOString();
}

function toSeconds(ms: number): number {
  return Math.round(ms) / 1000;
}
