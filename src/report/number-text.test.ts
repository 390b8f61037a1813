import { expect, test } from "vitest";
import {
  costText,
  countText,
  durationFormat,
  durationText,
  elapsedText,
  markText,
  percentText,
  waitText,
} from "./number-text.ts";

test.each([
  [-1, "0s"],
  [7.9, "7s"],
  [125, "2m05s"],
  [3840, "1h04m"],
  [183_600, "2d03h"],
])("%d seconds have elapsed as %s", (seconds, text) => {
  expect(elapsedText(seconds)).toBe(text);
});

test.each([
  [0, "0s"],
  [0.0001, "1ms"],
  [0.099, "99ms"],
  [0.0996, "0.1s"],
  [3.44, "3.4s"],
  [9.97, "10s"],
  [59.7, "1m00s"],
  [245.3, "4m05s"],
])("a duration of %d seconds reads %s", (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
});

test("durations that stand together below a second are all in milliseconds", () => {
  const seconds = [0, 0.0001, 0.003, 0.099, 0.1, 0.9994];
  expect(seconds.map(durationFormat(seconds))).toEqual(["0ms", "1ms", "3ms", "99ms", "100ms", "999ms"]);
});

test("durations that stand with one of a second or more are never in milliseconds", () => {
  const seconds = [0, 0.003, 0.099, 0.9996, 9.97, 245.3];
  expect(seconds.map(durationFormat(seconds))).toEqual(["0.0s", "0.0s", "0.1s", "1.0s", "10s", "4m05s"]);
});

test.each([
  [0.4, "1ms"],
  [99, "99ms"],
  [200, "0.2s"],
  [2500, "2.5s"],
  [3000, "3s"],
  [125_000, "2m05s"],
])("a wait of %d ms reads %s", (ms, text) => {
  expect(waitText(ms)).toBe(text);
});

test.each([
  [0, "$0"],
  [0.0002, "<$0.001"],
  [0.0342, "$0.034"],
  [0.0999, "$0.10"],
  [1.234, "$1.23"],
  [1234.5, "$1,235"],
])("%d dollars read %s", (usd, text) => {
  expect(costText(usd)).toBe(text);
});

test.each([
  [0, "0%"],
  [0.001, "<1%"],
  [0.725, "73%"],
  [0.996, ">99%"],
  [1, "100%"],
])("a rate of %d reads %s", (rate, text) => {
  expect(percentText(rate)).toBe(text);
});

test.each([
  [1, "1.0"],
  [0, "0.0"],
  [0.7249, "0.72"],
  [-3.5, "-3.50"],
  [0.00004, "4.0e-5"],
  [1234, "1,234"],
])("a mark of %d reads %s", (mark, text) => {
  expect(markText(mark)).toBe(text);
});

test("a count takes the plural unless it is one", () => {
  expect([countText(0, "trial"), countText(1, "trial"), countText(1200, "trial")]).toEqual([
    "0 trials",
    "1 trial",
    "1,200 trials",
  ]);
});
