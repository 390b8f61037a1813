import { artifactCases } from "./artifact-cases.ts";
import { followCases } from "./follow-cases.ts";
import { listCases } from "./list-cases.ts";
import type { RunSourceAbility, RunSourceCase } from "./run-source-case.ts";
import { unitCases } from "./unit-cases.ts";

/** Every guarantee of the `RunSource` contract, as data: any test runner can run it. */
const runSourceCases: readonly RunSourceCase[] = [...listCases, ...unitCases, ...artifactCases, ...followCases];

/** Returns the cases for a kind of source that has some abilities only. */
export function runSourceCasesFor(abilities: readonly RunSourceAbility[]): readonly RunSourceCase[] {
  return runSourceCases.filter(({ needs }) => needs.every((ability) => abilities.includes(ability)));
}
