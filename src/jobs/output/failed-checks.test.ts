import { expect, test } from "vitest";
import { findFailedChecks } from "./failed-checks.ts";

test.each([
  ["pytest", "FAILED tests/test_a.py::test_sum - assert 1 == 2"],
  ["pytest, at collection", "ERROR tests/test_a.py - ModuleNotFoundError: No module named 'app'"],
  ["TAP", "not ok 3 - the server answers"],
  ["Go", "--- FAIL: TestSum (0.00s)"],
  ["cargo", "test sums::adds ... FAILED"],
  ["unittest", "FAIL: test_sum (test_a.Sums)"],
])("finds what %s prints for a failed check", (_runner, line) => {
  expect(findFailedChecks(`collected 2 items\n\n${line}\n${line}\n1 failed\n`)).toEqual([line]);
});

test("takes nothing else for a failed check", () => {
  const output = "PASSED tests/test_a.py::test_sum\nok 1 - fine\nError: retrying\nFAILED\n=== 2 passed ===\n";
  expect(findFailedChecks(output)).toEqual([]);
});
