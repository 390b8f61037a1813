import { expect, test } from "vitest";
import { failureOfEnd, warningOfEnd } from "./step-end.ts";

const limits = { cpus: 1, memoryBytes: 256e6, storageBytes: 1e9 };
const ended = (exitCode: number, outOfMemory: boolean) => ({
  result: { exitCode, signal: null, outOfMemory },
  lastLines: [],
});

test("a command that ended well although the memory limit killed something of it is warned of", () => {
  expect(warningOfEnd(ended(0, true), "the agent", limits)).toBe(
    "the memory limit of 256M killed something that the agent had started",
  );
  expect(warningOfEnd(ended(0, false), "the agent", limits)).toBeNull();
  expect(warningOfEnd(ended(137, true), "the agent", limits)).toBeNull();
});

test("a command whose environment stored too much is told so, and by which limit", () => {
  const end = { result: { exitCode: 137, signal: null, outOfMemory: false, outOfStorage: true }, lastLines: [] };
  expect(failureOfEnd(end, "agent execution", "agent_execution_failed", limits)).toMatchObject({
    message: "agent execution was ended by the storage limit of 1G; it printed nothing",
    cause: null,
  });
});
