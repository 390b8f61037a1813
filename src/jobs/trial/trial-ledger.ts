import type { EarlierTries } from "../output/set-aside.ts";
import type { TrialInputsFile, TrialResultFile } from "../output/trial-result-schema.ts";
import type { AgentUsage } from "./collect-logs.ts";
import type { TeardownReport } from "./environment-lease.ts";
import { blameOf, type Failure } from "./failure.ts";
import type { PhaseName } from "./phase-clock.ts";
import type { TryOutcome } from "./run-try.ts";
import type { Trial } from "./trial.ts";
import type { TrialContext } from "./trial-context.ts";
import type { TryState } from "./try-state.ts";

// More than this helps nobody; the count tells the rest.
const mostWarnings = 50;

/** Keeps what becomes of a trial over its tries and turns it into its result. */
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

  /** Takes what the trial depends on, and what its tries in earlier sessions came to. */
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

  /** Notes a reason why nobody should rely on the reward; people see it among the warnings. */
  distrust(reason: string): void {
    if (!this.#untrusted.includes(reason)) this.#untrusted.push(reason);
    this.warn(`untrusted: ${reason}`);
  }

  countRetry(): void {
    this.#tries++;
  }

  beginTry(state: TryState): void {
    this.#state = state;
    // What was found in an environment that is lost says nothing about the next one.
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

  /** The result as it stands before the environment is given back. */
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
        cause: failure.cause,
        // Tests that somebody meddled with are not the task's fault.
        blame:
          this.#untrusted.length > 0 && failure.type.startsWith("verifier_") && failure.cause === null
            ? "agent"
            : blameOf(failure),
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

  /** The result that is known already, with one more warning; null when there is none yet. */
  amended(warning: string): TrialResultFile | null {
    if (!this.#result) return null;
    this.warn(warning);
    this.#result = { ...this.#result, warnings: this.#allWarnings() };
    return this.#result;
  }

  /** The same result after the environment was given back, with what went wrong in doing so. */
  tornDown(report: TeardownReport): TrialResultFile {
    if (!this.#result) throw new Error("a trial was torn down before it had a result");
    for (const problem of report.problems) this.warn(problem);
    for (const id of report.unkept) this.warn(`environment ${id} could not be kept: it has no way back in`);
    const teardownError = {
      type: "environment_teardown_failed",
      message: report.problems.join("\n"),
      cause: "infrastructure",
      blame: "infrastructure",
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

  // An environment that costs nothing now cost nothing in a try that left no word.
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
