import { expect, test } from "vitest";
import { sampleRun } from "./conformance/sample-run.ts";
import { parseFilter } from "./filter.ts";
import { matchesRunFilter } from "./run-filter.ts";

const run = sampleRun({
  name: "nightly",
  kind: "job",
  status: "interrupted",
  targets: ["claude", "codex"],
  datasets: [{ name: "terminal-bench", id: null, version: "2.0" }],
  tags: { branch: "main" },
  spendUsd: 12.5,
});

test.each([
  ["kind:job status:interrupted", true],
  ["agent:codex", true],
  ["agent:gemini", false],
  ["-agent:gemini dataset:terminal-*", true],
  ["dataset:terminal-bench@2.0", true],
  ["tag.branch:main", true],
  ["tag.branch:dev", false],
  ["cost>10 cost<=12.5", true],
  ["night", true],
  ['"no such text"', false],
])("%s", (text, isMatch) => {
  expect(matchesRunFilter(parseFilter(text), run)).toBe(isMatch);
});
