import { describe, test } from "vitest";
import { killJob, killMoments, killSignals } from "./kill-job.ts";

for (const signal of killSignals) {
  describe(`${signal} loses no result and leaves no container`, () => {
    test.for(killMoments)("at the time of: %s", { timeout: 600_000 }, (moment, context) =>
      killJob({ context, signal, moment }),
    );
  });
}
