import { toRaw, type RawJson } from "../../base/raw-json.ts";
import { messageOf } from "../../base/rollout-error.ts";
import type { ExecutorPool } from "../executor/executor-pool.ts";
import type { EvalOutcome } from "../executor/executor.ts";
import type { AggregateAnswer } from "../protocol.ts";
import type { FinishedRun } from "./experiment-run.ts";

/** A run as evaluators of the whole run read it. */
export function resultLine({ run, outcome, evaluations }: FinishedRun): string {
  const { id, input, output, metadata } = run.example;
  const example = `{"id":${toRaw(id)},"input":${input},"output":${output ?? "null"},"metadata":${metadata ?? "{}"}}`;
  const marks = evaluations.map(evaluationText).join(",");
  return `{"run_id":${toRaw(run.runId)},"repetition_number":${run.repetition},"example":${example},"actual_output":${outcome.output ?? "null"},"error":${toRaw(outcome.error)},"metadata":${outcome.metadata ?? "{}"},"evaluations":[${marks}]}`;
}

function evaluationText({ evaluator, score, label, explanation, metadata, error }: EvalOutcome): string {
  return `{"evaluator":${toRaw(evaluator)},"score":${toRaw(score)},"label":${toRaw(label)},"explanation":${toRaw(explanation)},"metadata":${metadata ?? "{}"},"error":${toRaw(error)}}`;
}

export interface AggregatesOptions {
  readonly names: readonly string[];
  /** A line for each run, in the order they ended. */
  readonly resultsPath: string;
  readonly pool: ExecutorPool;
  readonly params: RawJson;
  readonly limitMs: number;
  readonly signal: AbortSignal;
}

/** Asks each evaluator of the whole run, one after the other; one that fails is an answer with an error. */
export async function askAggregates(options: AggregatesOptions): Promise<AggregateAnswer[]> {
  const { names, resultsPath, pool, params, limitMs, signal } = options;
  const answers: AggregateAnswer[] = [];
  for (const aggregate of names) {
    if (signal.aborted) break;
    try {
      const request = { aggregate, resultsPath, params, limitMs, signal };
      answers.push(await pool.call(`aggregate ${aggregate}`, signal, (executor) => executor.runAggregate(request)));
    } catch (error) {
      if (signal.aborted) break;
      answers.push({ id: 0, aggregate, score: null, error: messageOf(error) });
    }
  }
  return answers;
}
