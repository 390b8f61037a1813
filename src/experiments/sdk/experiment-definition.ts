import type { JsonObject } from "../../base/json.ts";
import type { RunRecords } from "./run-records.ts";

/** What a task is called with beside its input. */
export interface TaskCall<Params> {
  readonly id: string;
  readonly runId: string;
  /** From 1. */
  readonly repetition: number;
  readonly expected: unknown;
  readonly metadata: JsonObject;
  readonly params: Params;
  readonly signal: AbortSignal;
}

/** What an evaluator is called with. */
export interface EvaluatorCall<Params> {
  readonly input: unknown;
  readonly output: unknown;
  readonly expected: unknown;
  readonly metadata: JsonObject;
  /** What the task told beside its output. */
  readonly taskMetadata: JsonObject;
  readonly runId: string;
  readonly params: Params;
  readonly signal: AbortSignal;
}

/** What an evaluator of the whole run is called with. */
export interface AggregateCall<Params> {
  readonly results: RunRecords;
  readonly params: Params;
  readonly signal: AbortSignal;
}

/** A number, null, or more than that. */
export type Evaluation =
  | number
  | null
  | {
      readonly score: number | null;
      readonly label?: string | undefined;
      readonly explanation?: string | undefined;
      readonly metadata?: JsonObject | undefined;
    };

/** An experiment: a task, what marks its outputs, and what both may be told. */
export interface Experiment<Params extends JsonObject = JsonObject> {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** With their defaults; the command line puts others over them. */
  readonly params?: Params | undefined;
  /** To tell something beside its output it may answer with `withMetadata(output, metadata)`. */
  readonly task: (input: never, call: TaskCall<Params>) => unknown;
  readonly evaluators?: Readonly<Record<string, (call: EvaluatorCall<Params>) => Evaluation | Promise<Evaluation>>>;
  /** Evaluators of the whole run, asked once when all of it has ended. */
  readonly aggregates?: Readonly<Record<string, (call: AggregateCall<Params>) => Evaluation | Promise<Evaluation>>>;
}
