import { describe, test } from "vitest";
import { runSourceCasesFor } from "../../store/conformance/run-source-cases.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { jobAbilities, jobRunSubject } from "./testing/job-run-subject.ts";

describe("a job directory can be read as a run source", () => {
  for (const entry of runSourceCasesFor(jobAbilities)) {
    test(entry.title, { timeout: entry.isSlow ? 120_000 : 20_000 }, async () => {
      await using subject = jobRunSubject(makeRoot(), entry.isSlow ? 100_000 : 1_300);
      await entry.run(subject);
    });
  }
});
