import { expect, test } from "vitest";
import type { CliContext } from "./cli-context.ts";
import { readOrigin } from "./run-origin.ts";

test("a tag that is none is refused at once, not in a promise that nobody awaits yet", () => {
  const context = { host: { cwd: "/", env: {} }, version: "0.0.0" } as CliContext;
  expect(() => readOrigin({ tag: ["branch"] }, context)).toThrow("--tag branch: expected key=value");
});
