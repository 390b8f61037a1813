import type { Json, JsonObject } from "../../base/json.ts";
import { readLines } from "../wire/read-lines.ts";

/** What an evaluator said of a run. */
export interface RecordedEvaluation {
  readonly evaluator: string;
  readonly score: number | null;
  readonly label: string | null;
  readonly explanation: string | null;
  readonly metadata: JsonObject;
  readonly error: string | null;
}

/** A run that has ended, as an evaluator of the whole run reads it. */
export interface RunRecord {
  readonly runId: string;
  readonly example: {
    readonly id: string;
    readonly input: Json;
    /** What is expected. */
    readonly output?: Json | undefined;
    readonly metadata?: JsonObject | undefined;
  };
  readonly output: Json;
  readonly error: string | null;
  readonly metadata: JsonObject;
  readonly evaluations: readonly RecordedEvaluation[];
}

/** The runs of an experiment, read from their file each time, so that any number fits. */
export interface RunRecords extends AsyncIterable<RunRecord> {
  /** What an evaluator gave, without the runs that it gave nothing. */
  scores(evaluator: string): Promise<number[]>;
}

/** The records in a file of JSON lines. */
export function readRunRecords(path: string): RunRecords {
  async function* read(): AsyncGenerator<RunRecord> {
    for await (const line of readLines(path)) yield toRecord(JSON.parse(line) as WireRecord);
  }
  return {
    [Symbol.asyncIterator]: read,
    async scores(evaluator) {
      const scores: number[] = [];
      for await (const { evaluations } of read()) {
        const score = evaluations.find((evaluation) => evaluation.evaluator === evaluator)?.score;
        if (typeof score === "number") scores.push(score);
      }
      return scores;
    },
  };
}

interface WireRecord {
  readonly run_id: string;
  readonly example: RunRecord["example"];
  readonly actual_output?: Json;
  readonly error?: string | null;
  readonly metadata?: JsonObject | null;
  readonly evaluations?: readonly Partial<RecordedEvaluation>[];
}

function toRecord({ run_id: runId, example, actual_output: output, ...line }: WireRecord): RunRecord {
  return {
    runId,
    example,
    output: output ?? null,
    error: line.error ?? null,
    metadata: line.metadata ?? {},
    evaluations: (line.evaluations ?? []).map(({ evaluator = "", score, label, explanation, metadata, error }) => ({
      evaluator,
      score: score ?? null,
      label: label ?? null,
      explanation: explanation ?? null,
      metadata: metadata ?? {},
      error: error ?? null,
    })),
  };
}
