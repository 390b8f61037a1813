import { RolloutError } from "../../base/rollout-error.ts";
import type { DiscoverAnswer } from "../protocol.ts";

type Names = Pick<DiscoverAnswer, "evaluators" | "aggregates">;

/** Throws if two evaluators or two aggregates have the same name: their answers could not be told apart. */
export function refuseDuplicateNames(discovered: Names): void {
  const problems = findDuplicateNames(discovered);
  if (problems.length === 0) return;
  throw new RolloutError("config_invalid", `the answer to discover cannot be used: ${problems.join("; ")}`, {
    hint: "give each a name of its own in the experiment, and run it again",
  });
}

/** Returns a sentence for each name that comes twice, with both places. */
export function findDuplicateNames({ evaluators, aggregates = [] }: Names): string[] {
  return [...findIn("evaluators", evaluators), ...findIn("aggregates", aggregates)];
}

function* findIn(kind: string, names: readonly string[]): Iterable<string> {
  const places = new Map<string, number>();
  for (const [index, name] of names.entries()) {
    const first = places.get(name);
    if (first === undefined) places.set(name, index + 1);
    else yield `${kind} ${first} and ${index + 1} are both named "${name}"`;
  }
}
