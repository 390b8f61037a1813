import { runIdOf, type Example, type PlannedRun } from "./example.ts";

/** Every example as often as it is repeated, in order. */
export async function* planRuns(
  examples: AsyncIterable<Example>,
  repetitions: number,
): AsyncGenerator<PlannedRun, void> {
  let index = 0;
  for await (const example of examples)
    for (let repetition = 1; repetition <= repetitions; repetition++)
      yield { index: index++, runId: runIdOf(example.id, repetition), example, repetition };
}
