import { expect, test } from "vitest";
import type { TrialResultFile } from "../output/trial-result-schema.ts";
import { describeEnds } from "./describe-attempts.ts";
import type { CheckedTrial } from "./task-verdict.ts";

function failedWith(message: string): CheckedTrial {
  const error = { type: "environment_build_failed", message, cause: "task" };
  return { dir: "job/oracle/tasks/task__1", result: { error, reward: null } as unknown as TrialResultFile };
}

test("what a build last printed is told with its failure, in one line", () => {
  const message = "RUN make ended with exit code 2; it last printed:\ncc main.c\nno such header: foo.h";
  expect(describeEnds([failedWith(message)])).toBe(`environment_build_failed: ${message.replaceAll("\n", " ")}`);
});

test("of a long one the beginning and the last words are told", () => {
  const text = describeEnds([
    failedWith(`RUN make ended; it last printed:\n${"x".repeat(900)}\nno such header: foo.h`),
  ]);
  expect(text).toMatch(/^environment_build_failed: RUN make ended; it last printed: x+ … x+ no such header: foo\.h$/);
  expect(text.length).toBeLessThan(340);
});
