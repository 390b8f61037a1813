import type { Json, JsonObject } from "../../base/json.ts";
import { parseRaw, type RawJson } from "../../base/raw-json.ts";
import type { ExperimentOutput } from "../output/experiment-output.ts";
import type { PlannedRun } from "../run/example.ts";
import type { RecordedEvaluation, RunRecord } from "./run-records.ts";

/** What an experiment came to, kept in memory. */
export interface CollectedOutput extends ExperimentOutput {
  /** In the order of the examples. */
  readonly runs: readonly RunRecord[];
  /** The order that evaluations of a run stand in, whichever came first. */
  arrange(evaluators: readonly string[]): void;
}

/** Keeps every result for the caller. */
export function openCollectedOutput(): CollectedOutput {
  const kept = new Map<number, Omit<RunRecord, "evaluations"> & { readonly evaluations: RecordedEvaluation[] }>();
  let order: readonly string[] = [];
  const inOrder = (evaluations: readonly RecordedEvaluation[]): RecordedEvaluation[] =>
    evaluations.toSorted((a, b) => order.indexOf(a.evaluator) - order.indexOf(b.evaluator));
  return {
    location: "",
    findEarlier: null,
    get runs() {
      const records = [...kept].sort(([a], [b]) => a - b).map(([, record]) => record);
      return records.map((record) => ({ ...record, evaluations: inOrder(record.evaluations) }));
    },
    arrange(evaluators) {
      order = evaluators;
    },
    async saveRun({ run, outcome }) {
      kept.set(run.index, {
        runId: run.runId,
        example: exampleOf(run),
        output: valueOf(outcome.output),
        error: outcome.error,
        metadata: objectOf(outcome.metadata),
        evaluations: [],
      });
    },
    async saveEvaluation(run, outcome) {
      kept.get(run.index)?.evaluations.push({ ...outcome, metadata: objectOf(outcome.metadata) });
    },
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
