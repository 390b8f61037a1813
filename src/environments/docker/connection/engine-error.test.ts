import { expect, test } from "vitest";
import { EngineError, wrapEngineError } from "./engine-error.ts";

test.each([
  ["no answer", null, "socket hang up", true],
  ["too many calls", 429, "slow down", true],
  ["trouble of its own", 500, "Error processing tar file(exit status 1): cannot allocate memory", true],
  ["a refusal", 409, "is not running", false],
  [
    "files in the way of an archive",
    500,
    "Error processing tar file(exit status 1): unlinkat /logs/verifier: directory not empty",
    false,
  ],
])("%s of an engine may pass, or not", (_what, status, message, transient) => {
  const error = wrapEngineError(new EngineError(status, message), "copy_failed", "copying");
  expect(error).toMatchObject({ code: "copy_failed", message: `copying: ${message}`, transient });
});
