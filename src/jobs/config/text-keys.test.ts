import { describe, expect, test } from "vitest";
import { isTextKey, keepText } from "./text-keys.ts";

test.each<[(string | number)[], boolean]>([
  [["agents", 0, "env", "A"], true],
  [["verifier", "env", "A"], true],
  [["datasets", 3, "version"], true],
  [["agents", 0, "env"], false],
  [["agents", 0, "name"], false],
  [["n_attempts"], false],
  [["environment", "provider_config", "version"], false],
  [[], false],
])("%j is a text key: %s", (path, expected) => {
  expect(isTextKey(path)).toBe(expected);
});

describe("keepText", () => {
  const written = (): string => "written";

  test("takes what was written for text keys only, and leaves texts and nothing alone", () => {
    const value = { n_attempts: 1, datasets: [{ version: 2, n_concurrent: 1 }], verifier: { env: { A: 1, B: "b" } } };
    expect(keepText(value, written)).toEqual({
      n_attempts: 1,
      datasets: [{ version: "written", n_concurrent: 1 }],
      verifier: { env: { A: "written", B: "b" } },
    });
  });

  test("leaves what nobody wrote as it is", () => {
    const value = { verifier: { env: { A: 1, B: null } }, agents: "x" };
    expect(keepText(value, () => undefined)).toEqual(value);
  });
});
