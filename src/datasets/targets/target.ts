import type { Anything } from "../../base/anything.ts";
import type { Scorer, Usage } from "../../scoring/scorer.ts";

/** What an agent is called with beside its input. */
export interface AgentCall {
  readonly scorers: Readonly<Record<string, never>>;
  readonly returnScorerData: true;
  readonly abortSignal: AbortSignal;
}

/** An agent of any library: an object with `generate`. One whose model is of the first generation needs `generateLegacy`. */
export interface AgentTarget {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  generate(input: never, options: never): unknown;
  getModel?(): unknown;
  generateLegacy?(input: never, options: never): unknown;
}

/** A workflow of any library: `createRun`, then `start`. */
export interface WorkflowTarget {
  readonly id?: string | undefined;
  readonly name?: string | undefined;
  createRun(options: never): unknown;
}

/** What a function is called with beside its item's input. */
export interface FunctionCall {
  readonly itemId: string;
  readonly expectedOutput: unknown;
  readonly metadata: Readonly<Record<string, unknown>>;
  /** From 1. */
  readonly repeat: number;
  /** Ends with the item's deadline or with the run. */
  readonly signal: AbortSignal;
}

/** A function of an input, any one when nothing is known of it. To tell what it used up it may answer with `withUsage(output, usage)`. */
export type FunctionTarget<Input = Anything> = (input: Input, call: FunctionCall) => unknown;

/** Something that is called on an item. */
export type Target<Input = Anything> = AgentTarget | WorkflowTarget | Scorer | FunctionTarget<Input>;

export type TargetType = "agent" | "workflow" | "scorer" | "function";

/** A target that was found, in an object of its own: some are thenable and would be called by a bare `await`. */
export interface ResolvedTarget {
  readonly type: TargetType;
  /** For people and for telling runs apart. */
  readonly name: string;
  readonly target: unknown;
}

/** What calling a target on an item came to; it never throws. */
export interface ExecutionResult {
  readonly output: unknown;
  readonly error: TargetError | null;
  readonly traceId: string | null;
  /** What scorers are to see instead of the item's input and the output. */
  readonly scorerInput: unknown;
  readonly scorerOutput: unknown;
  readonly usage: Usage | null;
}

/** What a target failed with, and what was thrown, for those who decide on more than words. */
export interface TargetError {
  readonly message: string;
  readonly thrown: unknown;
}

const usageBrand = Symbol.for("rollout-eval.Usage");

interface UsedOutput {
  readonly [usageBrand]: Partial<Usage>;
  readonly output: unknown;
}

/** An output of a function together with what it used up. */
export function withUsage(output: unknown, usage: Partial<Usage>): unknown {
  return { [usageBrand]: usage, output } satisfies UsedOutput;
}

/** The output and the usage of what a function answered. */
export function splitUsage(answer: unknown): { readonly output: unknown; readonly usage: Usage | null } {
  if (typeof answer !== "object" || answer === null || !(usageBrand in answer)) return { output: answer, usage: null };
  const { output, [usageBrand]: usage } = answer as UsedOutput;
  return { output, usage: { costUsd: null, inputTokens: null, outputTokens: null, ...usage } };
}
