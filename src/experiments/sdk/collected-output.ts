import type { Json, JsonObject } from "../../base/json.ts";
import { parseRaw, type RawJson } from "../../base/raw-json.ts";
import type { Run } from "../../store/run.ts";
import type { ExperimentOutput } from "../output/experiment-output.ts";
import type { PlannedRun } from "../run/example.ts";
import type { RecordedEvaluation, RunRecord } from "./run-records.ts";

/** The results of an experiment, in memory. */
export interface CollectedOutput extends ExperimentOutput {
  /** In the order of the examples. */
  readonly runs: readonly RunRecord[];
}

/** Keeps every result in memory. Evaluations of a run are in the order of `evaluators`. */
export function openCollectedOutput(run: Run, evaluators: readonly string[]): CollectedOutput {
  const kept = new Map<number, Omit<RunRecord, "evaluations"> & { readonly evaluations: RecordedEvaluation[] }>();
  const inOrder = (evaluations: readonly RecordedEvaluation[]): RecordedEvaluation[] =>
    evaluations.toSorted((a, b) => evaluators.indexOf(a.evaluator) - evaluators.indexOf(b.evaluator));
  return {
    run,
    findStored: null,
    get runs() {
      const records = [...kept].sort(([a], [b]) => a - b).map(([, record]) => record);
      return records.map((record) => ({ ...record, evaluations: inOrder(record.evaluations) }));
    },
    async saveTask({ run: planned, outcome }) {
      kept.set(planned.index, {
        runId: planned.runId,
        example: exampleOf(planned),
        output: valueOf(outcome.output),
        error: outcome.error,
        metadata: objectOf(outcome.metadata),
        evaluations: [],
      });
    },
    async saveEvaluation({ run: planned }, outcome) {
      kept.get(planned.index)?.evaluations.push({ ...outcome, metadata: objectOf(outcome.metadata) });
    },
    update: async () => {},
    end: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}

function exampleOf({ example: { id, input, output, metadata } }: PlannedRun): RunRecord["example"] {
  return {
    id,
    input: valueOf(input),
    ...(output === null ? {} : { output: valueOf(output) }),
    ...(metadata === null ? {} : { metadata: objectOf(metadata) }),
  };
}

function valueOf(raw: RawJson | null): Json {
  return raw === null ? null : (parseRaw(raw) as Json);
}

function objectOf(raw: RawJson | null): JsonObject {
  return (valueOf(raw) as JsonObject | null) ?? {};
}
