import { describe, expect, test } from "vitest";
import type { StoredResult, StoredScore } from "./run-store.ts";
import { decodeResult, decodeUnit, encodeUnit } from "./unit-body.ts";

const plain: StoredResult = {
  index: 7,
  itemId: "i",
  repeat: 1,
  itemVersion: 3,
  status: "succeeded",
  input: { a: 1 },
  output: null,
  error: null,
  startedAt: 1000,
  completedAt: 1000,
  retryCount: 0,
  traceId: null,
  extra: {},
};
const full: StoredResult = {
  ...plain,
  repeat: 2,
  status: "failed",
  output: [1, "x"],
  expectedOutput: null,
  error: { message: "no" },
  completedAt: 1250,
  retryCount: 3,
  traceId: "t",
  extra: { usage: { tokens: 5 } },
};
const mark: StoredScore = { index: 7, scorerId: "s", scorerName: "s", score: 1, reason: null, error: null, extra: {} };
const words: StoredScore = { ...mark, scorerName: "S", score: null, reason: "r", error: "e", extra: { label: "l" } };

describe("what a store keeps of a unit", () => {
  test.each([
    ["what all have in common", plain, [mark]],
    ["everything said", full, [words, mark]],
    ["no score", { ...plain, expectedOutput: 0 }, []],
  ])("comes back as it was: %s", (_what, result, scores) => {
    expect(decodeResult(7, result.status, encodeUnit({ index: 7, result, scores }))).toEqual({ result, scores });
  });

  test("a unit of which only scorers have spoken comes back without a result", () => {
    const unit = { index: 7, result: null, scores: [words] };
    expect(decodeUnit(7, null, encodeUnit(unit))).toEqual(unit);
  });

  test("what the store knows beside it and what goes without saying takes no room", () => {
    const body = encodeUnit({ index: 7, result: plain, scores: [mark] });
    expect(body).toBe(
      '{"item":"i","version":3,"input":{"a":1},"output":null,"at":1000,"scores":[{"by":"s","score":1}]}',
    );
  });

  test("what earlier versions stored is read as well", () => {
    const text = JSON.stringify({ result: full, scores: [words] });
    expect(decodeResult(7, "failed", text)).toEqual({ result: full, scores: [words] });
    expect(decodeUnit(7, null, JSON.stringify({ result: null, scores: [words] }))).toEqual({
      index: 7,
      result: null,
      scores: [words],
    });
  });
});
