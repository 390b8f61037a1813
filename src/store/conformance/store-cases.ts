import { datasetCases } from "./dataset-cases.ts";
import { itemCases } from "./item-cases.ts";
import { runCases } from "./run-cases.ts";
import type { StoreCase } from "./store-case.ts";

/** Every guarantee of the store contract, as data: any test runner can run it. */
export const storeCases: readonly StoreCase[] = [...datasetCases, ...itemCases, ...runCases];
