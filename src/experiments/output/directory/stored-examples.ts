import { join } from "node:path";
import type { EvalOutcome } from "../../executor/executor.ts";
import { textOf } from "../../executor/read-outcome.ts";
import type { PlannedRun } from "../../run/example.ts";
import type { StoredExample } from "../experiment-output.ts";
import { openLineIndex } from "./line-index.ts";
import { evaluationKey, keyOfEvaluation, readEvaluationLine, readRunLine, runKey } from "./result-lines.ts";

/** Finds what a directory holds of a run. */
export interface StoredExamples extends AsyncDisposable {
  find(run: PlannedRun): Promise<StoredExample | null>;
}

/** Looks where the runs and evaluations of a directory are; what comes later is not seen. */
export async function openStoredExamples(directory: string): Promise<StoredExamples> {
  await using opened = new AsyncDisposableStack();
  const names = new Set<string>();
  const runs = opened.use(await openLineIndex(join(directory, "runs.jsonl"), runKey));
  const evaluations = opened.use(
    await openLineIndex(join(directory, "evaluations.jsonl"), (members) => {
      names.add(textOf(members, "evaluator_name") ?? "");
      return evaluationKey(members);
    }),
  );
  const kept = opened.move();
  return {
    async find(run) {
      const line = await runs.find(run.runId);
      if (line === null) return null;
      const found = new Map<string, EvalOutcome>();
      for (const name of names) {
        const members = await evaluations.find(keyOfEvaluation(run.runId, name));
        if (members !== null) found.set(name, readEvaluationLine(members));
      }
      return { ...readRunLine(run, line), evaluations: found };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
