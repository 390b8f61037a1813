import { resumeCases, scoringCases } from "./reopening-cases.ts";
import type { RepositoryCase } from "./repository-case.ts";
import { storingCases } from "./storing-cases.ts";

/** Every guarantee of the `ExperimentRepository` contract, as data: any test runner can run it. */
export const repositoryCases: readonly RepositoryCase[] = [...storingCases, ...resumeCases, ...scoringCases];
