import { toRaw, type RawJson } from "../../../base/raw-json.ts";
import type { RawMembers } from "../../../base/raw-members.ts";
import type { EvalOutcome } from "../../executor/executor.ts";
import { errorOf, readEvalOutcome, textOf } from "../../executor/read-outcome.ts";
import type { FailureType, PlannedRun } from "../../run/example.ts";
import type { AnsweredRun } from "../experiment-output.ts";

/** A line of runs.jsonl. */
export function runLine({ run, outcome, failureType, startedAt, durationMs }: AnsweredRun): readonly string[] {
  const { example } = run;
  const [started, completed] = [timeText(startedAt), timeText(startedAt + durationMs)];
  return [
    `{"example_id":${toRaw(example.id)},"run_id":${toRaw(run.runId)},"repetition_number":${run.repetition},"started_at":"${started}","completed_at":"${completed}","input_data":`,
    example.input,
    `,"output":`,
    example.output ?? "null",
    `,"actual_output":`,
    outcome.output ?? "null",
    `,"metadata":${outcome.metadata ?? "{}"},"error":${toRaw(outcome.error)},"error_type":${toRaw(failureType)}}`,
  ];
}

/** A line of evaluations.jsonl. */
export function evaluationLine({ runId }: PlannedRun, outcome: EvalOutcome): string {
  const { evaluator, score, label, explanation, metadata, error } = outcome;
  return `{"run_id":${toRaw(runId)},"evaluator_name":${toRaw(evaluator)},"score":${toRaw(score)},"label":${toRaw(label)},"explanation":${toRaw(explanation)},"metadata":${metadata ?? "{}"},"error":${toRaw(error)}}`;
}

/** What runs are looked for by. */
export function runKey(members: RawMembers): string | null {
  return textOf(members, "run_id");
}

/** What evaluations are looked for by. */
export function evaluationKey(members: RawMembers): string | null {
  const [runId, evaluator] = [textOf(members, "run_id"), textOf(members, "evaluator_name")];
  return runId === null || evaluator === null ? null : keyOfEvaluation(runId, evaluator);
}

export function keyOfEvaluation(runId: string, evaluator: string): string {
  return `${runId}\0${evaluator}`;
}

export function readRunLine(run: PlannedRun, members: RawMembers): AnsweredRun {
  const error = errorOf(members);
  const output = members.get("actual_output") ?? toRaw(null);
  const metadata = metadataOf(members);
  const startedAt = timeOf(members, "started_at");
  return {
    run,
    outcome: { output: error === null ? output : null, metadata, error, isCancelled: false },
    failureType: error === null ? null : ((textOf(members, "error_type") ?? "task_failed") as FailureType),
    startedAt,
    durationMs: timeOf(members, "completed_at") - startedAt,
  };
}

export function readEvaluationLine(members: RawMembers): EvalOutcome {
  const outcome = readEvalOutcome(members, textOf(members, "evaluator_name") ?? "");
  return { ...outcome, metadata: metadataOf(members) };
}

/** An object without members stands for none. */
function metadataOf(members: RawMembers): RawJson | null {
  const raw = members.get("metadata");
  return raw === undefined || raw === "null" || raw === "{}" ? null : raw;
}

let minute = "";
let minuteAt = Number.NaN;

/** The time in ISO 8601: within the minute of the one before, only its seconds are new. */
function timeText(at: number): string {
  const ms = Math.trunc(at);
  if (!(ms >= minuteAt && ms < minuteAt + 60_000)) {
    minuteAt = Math.floor(ms / 60_000) * 60_000;
    minute = new Date(minuteAt).toISOString().slice(0, 17);
  }
  const inMinute = ms - minuteAt;
  return `${minute}${String(Math.floor(inMinute / 1000)).padStart(2, "0")}.${String(inMinute % 1000).padStart(3, "0")}Z`;
}

function timeOf(members: RawMembers, name: string): number {
  return Date.parse(textOf(members, name) ?? "") || 0;
}
