import { datasetCases } from "./dataset-cases.ts";
import { itemCases } from "./item-cases.ts";
import { runCases } from "./run-cases.ts";
import type { StoreCase } from "./store-case.ts";

/** What every store promises, as data: any test runner can run it. */
export const storeCases: readonly StoreCase[] = [...datasetCases, ...itemCases, ...runCases];
