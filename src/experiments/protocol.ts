import type { Json, JsonObject } from "../base/json.ts";

/** What a peer may understand beyond the basic protocol; each is used only when both sides named it. */
export const capabilities = ["ids", "cancel", "log", "heartbeat", "aggregate"] as const;

export type Capability = (typeof capabilities)[number];

export const protocolVersion = "1.0";

/** Asks what an experiment file has. */
export interface DiscoverCommand {
  readonly cmd: "discover";
  /** What the orchestrator understands. */
  readonly capabilities?: readonly string[] | undefined;
}

export interface DiscoverAnswer {
  readonly protocol_version: string;
  readonly name?: string | null | undefined;
  readonly description?: string | null | undefined;
  readonly task?: string | null | undefined;
  readonly evaluators: readonly string[];
  /** Evaluators of the whole run. */
  readonly aggregates?: readonly string[] | undefined;
  /** With their defaults. */
  readonly params: JsonObject;
  readonly capabilities?: readonly string[] | undefined;
}

/** Sets an executor up; nothing runs before its answer. */
export interface InitCommand {
  readonly cmd: "init";
  readonly max_workers: number;
  readonly params: JsonObject;
  /** What is used from now on: what both sides named. */
  readonly capabilities?: readonly string[] | undefined;
  /** How often the executor is to say that it lives, when `heartbeat` is used. */
  readonly heartbeat_ms?: number | undefined;
}

export interface InitAnswer {
  readonly ok: boolean;
  readonly error?: string | null | undefined;
}

/** One example, once. */
export interface TaskInput {
  readonly id: string;
  readonly input: Json;
  /** What is expected. */
  readonly output?: Json | undefined;
  readonly metadata?: JsonObject | undefined;
  /** `<id>#<repetition_number>` */
  readonly run_id: string;
  /** From 1. */
  readonly repetition_number: number;
  readonly params: JsonObject;
}

export interface RunTaskCommand {
  readonly cmd: "run_task";
  /** With `ids`: comes back in the answer. */
  readonly id?: number | undefined;
  readonly input: TaskInput;
}

export interface TaskAnswer {
  readonly id?: number | undefined;
  readonly run_id: string;
  readonly output?: Json | undefined;
  /** `started_at`, `completed_at`, `execution_time_ms` and whatever the task adds. */
  readonly metadata?: JsonObject | null | undefined;
  readonly error?: string | null | undefined;
  /** With `cancel`: it was told to stop, and did. */
  readonly cancelled?: boolean | undefined;
}

export interface EvalInput {
  readonly example: {
    readonly id: string;
    readonly run_id?: string | undefined;
    readonly input: Json;
    readonly output?: Json | undefined;
    readonly metadata?: JsonObject | undefined;
  };
  readonly actual_output: Json;
  readonly expected_output?: Json | undefined;
  /** What the task's answer had as metadata. */
  readonly task_metadata?: JsonObject | undefined;
  readonly params: JsonObject;
  /** Whose output it is; else the example's, else that of the example's only run. */
  readonly run_id?: string | undefined;
}

/** Runs evaluators on one output. Peers that mark their answers take one `evaluator`, others a list of `evaluators`. */
export interface RunEvalCommand {
  readonly cmd: "run_eval";
  readonly id?: number | undefined;
  readonly input: EvalInput;
  /** All of them when absent. */
  readonly evaluators?: readonly string[] | undefined;
  readonly evaluator?: string | undefined;
}

/** One for each evaluator. */
export interface EvalAnswer {
  readonly id?: number | undefined;
  readonly run_id: string;
  readonly evaluator: string;
  readonly score: number | null;
  readonly label?: string | null | undefined;
  readonly explanation?: string | null | undefined;
  readonly metadata?: JsonObject | null | undefined;
  readonly error?: string | null | undefined;
  readonly cancelled?: boolean | undefined;
}

/** Runs an evaluator of the whole run, when `aggregate` is used. */
export interface RunAggregateCommand {
  readonly cmd: "run_aggregate";
  readonly id: number;
  readonly aggregate: string;
  readonly input: {
    /** A file of JSON lines, one for each run: `run_id`, `example`, `actual_output`, `error`, `metadata`, `evaluations`. */
    readonly results_path: string;
    readonly params: JsonObject;
  };
}

export interface AggregateAnswer {
  readonly id: number;
  readonly aggregate: string;
  readonly score: number | null;
  readonly label?: string | null | undefined;
  readonly explanation?: string | null | undefined;
  readonly metadata?: JsonObject | null | undefined;
  readonly error?: string | null | undefined;
}

/** Tells an executor that nobody waits for an answer any more, when `cancel` is used; it answers all the same, with `cancelled`. */
export interface CancelCommand {
  readonly cmd: "cancel";
  readonly id: number;
}

/** Answered once all that runs has been answered; then the executor ends. */
export interface ShutdownCommand {
  readonly cmd: "shutdown";
}

export interface ShutdownAnswer {
  readonly ok: boolean;
}

/** What user code printed, when `log` is used; it answers nothing. */
export interface LogMessage {
  readonly log: {
    /** Null when it belongs to no run. */
    readonly run_id: string | null;
    readonly stream: "stdout" | "stderr" | "log";
    readonly text: string;
    readonly level?: string | undefined;
  };
}

/** A sign of life, when `heartbeat` is used; it answers nothing. */
export interface HeartbeatMessage {
  readonly heartbeat: { readonly running: number };
}

/** A command that could not be understood; `id` when it had one. */
export interface ErrorAnswer {
  readonly id?: number | undefined;
  readonly error: string;
}

export type ExecutorCommand =
  | DiscoverCommand
  | InitCommand
  | RunTaskCommand
  | RunEvalCommand
  | RunAggregateCommand
  | CancelCommand
  | ShutdownCommand;
