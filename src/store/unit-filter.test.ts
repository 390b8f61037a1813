import { expect, test } from "vitest";
import { sampleFailedUnit, sampleUnit } from "./conformance/sample-run.ts";
import { checkFilterNames, parseFilter } from "./filter.ts";
import { matchesUnit, unitFieldNames, unitNumberNames } from "./unit-filter.ts";
import { toUnitRow } from "./unit-row.ts";

const passed = toUnitRow(
  sampleUnit(7, {
    labels: { agent: "Claude-Code", task: "build-linux", attempt: "2" },
    key: "Claude-Code/tasks/build-linux__2",
    tries: 2,
    warnings: ["slow"],
    scores: [
      { name: "reward", value: 0.5 },
      { name: "style.short", value: 1 },
    ],
  }),
);
const failed = toUnitRow(sampleFailedUnit(3));
const unknown = toUnitRow(sampleUnit(1, { usage: null, spendUsd: null, untrusted: ["why"] }));

function matches(text: string, row = passed): boolean {
  return matchesUnit(parseFilter(text), row);
}

test.each([
  "",
  "  ",
  "status:completed",
  "STATUS:Completed",
  "agent:claude-code",
  "agent:claude*",
  "agent:*code",
  "task:b*l*x",
  "agent:codex,claude*",
  "-agent:codex,gemini",
  "-status:failed",
  "key:claude-code/tasks/build-linux__2",
  'task:"build-linux"',
  "reward=0.5",
  "reward<1",
  "reward<=0.5",
  "reward>0.4",
  "reward>=.5",
  "reward!=1",
  "-reward>0.5",
  "style.short=1",
  "attempt=2",
  "attempt>1",
  "tries>1",
  "duration=2",
  "cost=0.25",
  "cost>=2.5e-1 index=7",
  "-cost>0.25",
  "warnings=1",
  "tokens=117",
  "index<8",
  "untrusted:no",
  "linux",
  '"BUILD-linux"',
  "-windows",
  '-"a b"',
  "agent:claude* reward<1 tries>1 linux",
])("%j matches", (text) => {
  expect(matches(text)).toBe(true);
});

test.each([
  "status:failed",
  "status:complete",
  "-status:completed",
  "agent:claude",
  "agent:codex,gemini",
  "-agent:codex,claude*",
  "error:timeout",
  "nothing:x",
  "reward>0.5",
  "nothing>0",
  "-linux",
  "windows",
  "untrusted:yes",
  "agent:claude* reward=1",
])("%j does not match", (text) => {
  expect(matches(text)).toBe(false);
});

test("finds failures by type, cause, phase and text", () => {
  for (const text of [
    "error:timeout",
    "error:agent*time*",
    "cause:agent",
    "phase:agent_execution",
    '"the agent exceeded"',
  ])
    expect(matches(text, failed), text).toBe(true);
  for (const text of ["error:lost", "cause:task", "phase:verifier", "-error:timeout", "reward<1", "reward>=0"])
    expect(matches(text, failed), text).toBe(false);
});

test("a value that is unknown meets no condition, and every negated one", () => {
  for (const text of ["cost<1", "cost>=0", "tokens>0"]) {
    expect(matches(text, unknown), text).toBe(false);
    expect(matches(`-${text}`, unknown), text).toBe(true);
  }
  expect(matches("untrusted:yes", unknown)).toBe(true);
});

test("parses every form of a term", () => {
  expect(parseFilter('agent:Claude,Codex -task:"a, b" -cost>=1.5 "Free Text" -word')).toEqual([
    { kind: "field", isNegated: false, name: "agent", patterns: ["claude", "codex"] },
    { kind: "field", isNegated: true, name: "task", patterns: ["a, b"] },
    { kind: "number", isNegated: true, name: "cost", operator: ">=", value: 1.5 },
    { kind: "text", isNegated: false, text: "free text" },
    { kind: "text", isNegated: true, text: "word" },
  ]);
});

test("finds labels whatever the case of their names", () => {
  const row = toUnitRow(sampleUnit(0, { labels: { userId: "A1" } }));
  for (const text of ["userId:a1", "userid:A1", "USERID:a*"]) {
    expect(matches(text, row), text).toBe(true);
    expect(() => checkFilterNames(parseFilter(text), ["userId"], [])).not.toThrow();
  }
});

test("special characters of expressions are ordinary characters", () => {
  expect(matches("agent:claude.code")).toBe(false);
  expect(matches("task:(build*")).toBe(false);
  expect(matches("task:[b]*")).toBe(false);
});

test.each([
  ["reward<high", "filter term reward<high: expected a number after <, got high"],
  ["status:failed cost>=1usd", "filter term cost>=1usd: expected a number after >=, got 1usd"],
  ["-tries=NaN", "filter term -tries=NaN: expected a number after =, got NaN"],
  ["cost<Infinity", "filter term cost<Infinity: expected a number after <, got Infinity"],
])("%j is refused", (text, message) => {
  expect(() => parseFilter(text)).toThrow(expect.objectContaining({ code: "usage_invalid", message }));
});

test("a name that units do not have is refused with the names they have", () => {
  const check = (text: string) => () =>
    checkFilterNames(
      parseFilter(text),
      [...unitFieldNames, "agent", "attempt"],
      [...unitNumberNames, "reward", "attempt"],
    );
  for (const text of ["agent:x status:y error:z", "reward<1 cost>0 attempt=1", "anything", "-untrusted:yes"])
    expect(check(text)).not.toThrow();
  expect(check("agnet:x")).toThrow(
    expect.objectContaining({ code: "usage_invalid", hint: expect.stringContaining("agent") }),
  );
  expect(check("rewrad<1")).toThrow(expect.objectContaining({ hint: expect.stringContaining("reward") }));
});
