import { createHash } from "node:crypto";
import { parseRaw, type RawJson } from "../../base/raw-json.ts";
import type { StoredExample } from "../output/experiment-output.ts";

/** What one example got in an experiment, over all its repetitions. */
export interface ExampleMarks {
  /** Tells its input from others. */
  readonly inputHash: string;
  failed: number;
  /** Sum and count of the scores of each evaluator. */
  readonly scores: Map<string, { sum: number; count: number }>;
}

/** Sums up the runs of an experiment by example: a few numbers for each. */
export async function readExampleMarks(runs: AsyncIterable<StoredExample>): Promise<Map<string, ExampleMarks>> {
  const all = new Map<string, ExampleMarks>();
  for await (const { run, outcome, evaluations } of runs) {
    const { id, input } = run.example;
    const marks = all.get(id) ?? { inputHash: hashOf(input), failed: 0, scores: new Map() };
    all.set(id, marks);
    if (outcome.error !== null) marks.failed++;
    for (const { evaluator, score } of evaluations.values()) {
      if (score === null) continue;
      const known = marks.scores.get(evaluator) ?? { sum: 0, count: 0 };
      known.sum += score;
      known.count++;
      marks.scores.set(evaluator, known);
    }
  }
  return all;
}

/** The mean of an example's scores; null when it has none. */
export function meanOf(marks: ExampleMarks, evaluator: string): number | null {
  const known = marks.scores.get(evaluator);
  return known === undefined ? null : known.sum / known.count;
}

// A directory keeps a number as it was written, a store as it is read.
function hashOf(input: RawJson): string {
  return createHash("sha1")
    .update(JSON.stringify(parseRaw(input)))
    .digest("base64");
}
