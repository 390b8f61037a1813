import { describe, expect, test } from "vitest";
import { isTransientError } from "./is-transient.ts";

function judge(thrown: unknown): boolean {
  return isTransientError({ message: thrown instanceof Error ? thrown.message : String(thrown), thrown });
}

function error(message: string, fields: object = {}): Error {
  return Object.assign(new Error(message), fields);
}

describe("what the fields say counts", () => {
  test.each([
    [error("no", { status: 429 }), true],
    [error("no", { statusCode: 503 }), true],
    [error("no", { response: { status: 500 } }), true],
    [error("the timeout of the request was invalid", { status: 400 }), false],
    [error("timeout", { isRetryable: false }), false],
    [error("bad", { isRetryable: true }), true],
    [error("read", { code: "ECONNRESET" }), true],
    [new TypeError("fetch failed", { cause: error("x", { code: "ENOTFOUND" }) }), true],
    [new Error("outer", { cause: new Error("inner", { cause: error("x", { code: "ETIMEDOUT" }) }) }), true],
    [error("gave up", { lastError: error("x", { statusCode: 529 }) }), true],
    [new DOMException("This operation was aborted", "AbortError"), false],
    [new DOMException("The operation was aborted due to timeout", "TimeoutError"), true],
  ])("%o is transient: %s", (thrown, expected) => {
    expect(judge(thrown)).toBe(expected);
  });
});

describe("words count last", () => {
  test.each([
    ["Transaction aborted by server, 503", true],
    ["Rate limit reached", true],
    ["Request timed out", true],
    ["socket hang up", true],
    ["Invalid input format", false],
    ["the answer has 5123 characters", false],
    ["abort", false],
  ])("%s: %s", (message, expected) => {
    expect(judge(new Error(message))).toBe(expected);
  });
});

test("an error that is its own cause is judged all the same", () => {
  const ring = error("ring");
  ring.cause = ring;
  expect(judge(ring)).toBe(false);
});
