import type { DataItem, RunConfig } from "../../src/public/datasets.ts";
import type { Order } from "./contender.ts";

/** Items one by one, each with a number that the target is to give back. */
export function* makeItems(count: number): Generator<DataItem, void> {
  for (let i = 0; i < count; i++) yield { input: { i }, expectedOutput: i };
}

/** A target and scorers that do next to nothing, so that what is measured is the run around them. */
export function configOf({ scorers, inFlight }: Pick<Order, "scorers" | "inFlight">): RunConfig {
  return {
    target: (input: { readonly i: number }) => input.i,
    scorers: Array.from({ length: scorers }, (_, k) => ({
      id: `s${k}`,
      run: ({ output, groundTruth }: { readonly output?: unknown; readonly groundTruth?: unknown }) => ({
        score: output === groundTruth ? 1 : 0,
      }),
    })),
    maxConcurrency: inFlight,
  };
}
