import { runIdOf, type Example, type PlannedRun } from "./example.ts";

/** Every example as often as it is repeated, in order; as many at once as examples come. */
export async function* planRuns(
  examples: AsyncIterable<Iterable<Example>>,
  repetitions: number,
): AsyncGenerator<Iterable<PlannedRun>, void> {
  let index = 0;
  function* planSome(some: Iterable<Example>): Iterable<PlannedRun> {
    for (const example of some)
      for (let repetition = 1; repetition <= repetitions; repetition++)
        yield { index: index++, runId: runIdOf(example.id, repetition), example, repetition };
  }
  for await (const some of examples) yield planSome(some);
}
