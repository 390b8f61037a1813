import { describe, test } from "vitest";
import { killJob, killMoments, killSignals } from "../e2e/kill-job.ts";

describe.for([1, 2, 3, 4, 5])("round %i of kills", () => {
  for (const signal of killSignals) {
    test.for(killMoments)(`${signal} at the time of: %s`, (moment, context) => killJob({ context, signal, moment }));
  }
});
