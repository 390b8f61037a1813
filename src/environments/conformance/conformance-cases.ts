import { changeCases } from "./change-cases.ts";
import { commandCases } from "./command-cases.ts";
import type { ConformanceCase } from "./conformance-case.ts";
import { copyOutCases } from "./copy-out-cases.ts";
import { lifeCases } from "./life-cases.ts";
import { placementCases } from "./placement-cases.ts";
import { processCases } from "./process-cases.ts";
import { providerCases } from "./provider-cases.ts";
import { replacementCases } from "./replacement-cases.ts";
import { snapshotCases } from "./snapshot-cases.ts";
import { surroundingsCases } from "./surroundings-cases.ts";

/** Everything that an environment provider promises; one that passes all that apply can run any job. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...providerCases,
  ...lifeCases,
  ...placementCases,
  ...replacementCases,
  ...copyOutCases,
  ...commandCases,
  ...surroundingsCases,
  ...processCases,
  ...snapshotCases,
  ...changeCases,
];
