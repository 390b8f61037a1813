import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { isDiskFull, messageOf, RolloutError, systemCodeOf } from "./rollout-error.ts";

describe("RolloutError", () => {
  test("says nothing that it was not told", () => {
    const error = new RolloutError("not_found", "no such job");
    expect(error).toMatchObject({ name: "RolloutError", code: "not_found", transient: false, problems: [] });
    expect(error.hint).toBeUndefined();
    expect("cause" in error).toBe(false);
    expect(error).toBeInstanceOf(Error);
  });

  test("carries hint, cause, problems and whether to try again", () => {
    const cause = new Error("socket closed");
    const problem = { file: "job.yaml", message: "m", severity: "error" } as const;
    const error = new RolloutError("io_failed", "m", { hint: "h", cause, problems: [problem], transient: true });
    expect(error).toMatchObject({ hint: "h", cause, problems: [problem], transient: true });
  });
});

describe("messageOf", () => {
  test.each([
    [new Error("broken"), "broken"],
    ["thrown text", "thrown text"],
    [{ reason: 1 }, '{"reason":1}'],
    [null, "null"],
    [undefined, "undefined"],
    [7, "7"],
    [10n, "10n"],
    [Symbol("s"), "Symbol(s)"],
  ])("of %o is %j", (thrown, expected) => {
    expect(messageOf(thrown)).toBe(expected);
  });

  test("of an object that contains itself is still a text", () => {
    const loop: Record<string, unknown> = {};
    loop["self"] = loop;
    expect(messageOf(loop)).toContain("[Circular");
  });
});

describe("systemCodeOf", () => {
  test("is the code of a system error", async () => {
    const thrown: unknown = await readFile("/no/such/file").catch((error: unknown) => error);
    expect(systemCodeOf(thrown)).toBe("ENOENT");
  });

  test.each([
    [new Error("x")],
    ["ENOENT"],
    [{ code: "ENOENT" }],
    [undefined],
    [Object.assign(new Error("x"), { code: 5 })],
  ])("is absent for %o", (thrown) => {
    expect(systemCodeOf(thrown)).toBeUndefined();
  });
});

test("a full disk is seen through any number of causes, and nothing else is taken for one", () => {
  const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  expect(isDiskFull(full)).toBe(true);
  expect(isDiskFull(new RolloutError("copy_failed", "cannot write", { cause: new Error("x", { cause: full }) }))).toBe(
    true,
  );
  expect(isDiskFull(Object.assign(new Error("gone"), { code: "ENOENT" }))).toBe(false);
  expect(isDiskFull("ENOSPC")).toBe(false);
});
