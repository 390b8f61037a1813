import { expect, test } from "vitest";
import { createFailure } from "./failure.ts";

function fingerprint(message: string, changes: { type?: string; phase?: string | null } = {}): string {
  return createFailure({ type: "t", phase: "p", cause: "agent", message, ...changes }).fingerprint;
}

test("a fingerprint consists of type, phase and the first line of the message", () => {
  expect(fingerprint("it failed\nat once")).toBe("t|p|it failed");
  expect(fingerprint("it failed", { phase: null })).toBe("t||it failed");
  expect(fingerprint("")).toBe("t|p|");
});

test.each([
  ["integers", "exit code 137", "exit code 1"],
  ["fractions and thousands", "took 1,234.5 seconds", "took 9.25 seconds"],
  ["units behind a number", "exceeded 30s", "exceeded 600s"],
  ["digests", "image sha256:0123abcd4567 is gone", "image sha256:fedcba9876543 is gone"],
  ["addresses", "fault at 0x7ffe12", "fault at 0xDEADBEEF"],
  ["short commits", "cannot check out 3f2a1bc", "cannot check out 9d8e7f6a5"],
  ["absolute paths", "cannot read /tmp/a-1/b.txt", "cannot read /home/user/c"],
  ["relative paths", "cannot read ./a/b", "cannot read ../x/y/z.json"],
  ["double quotes", 'no tool "grep"', 'no tool "a b c"'],
  ["single quotes", "no tool 'grep'", "no tool 'sed -i'"],
  ["backquotes", "no tool `grep`", "no tool `sed`"],
  ["quoted paths", 'cannot read "/tmp/a b/c"', 'cannot read "/x"'],
  ["times", "since 2025-01-15T10:30:00.123Z", "since 2026-11-18 14:00:00+01:00"],
  ["URLs", "GET https://example.com/a?b=1 failed", "GET http://localhost:8080/x#y failed"],
])("messages that differ in %s only have the same fingerprint", (_, one, other) => {
  expect(fingerprint(one)).toBe(fingerprint(other));
});

test.each([
  ["the agent timed out", "the agent crashed"],
  ["cannot read /a", "cannot write /a"],
  ["connection refused", "connection reset"],
  ['no tool "a"', 'no file "a"'],
  ["exit code 1", "exit status 1"],
  ["deadbeef", "feedback"],
])("%j and %j have different fingerprints", (one, other) => {
  expect(fingerprint(one)).not.toBe(fingerprint(other));
});

test("type and phase are part of the fingerprint", () => {
  const all = [fingerprint("m"), fingerprint("m", { type: "u" }), fingerprint("m", { phase: "q" })];
  expect(new Set(all).size).toBe(3);
});

test("a fingerprint of a long message is short, and made quickly", () => {
  const startedAt = performance.now();
  const long = fingerprint(`${"a/b".repeat(500_000)}"${"'".repeat(500_000)}`);
  expect(long.length).toBeLessThan(200);
  expect(performance.now() - startedAt).toBeLessThan(1_000);
});
