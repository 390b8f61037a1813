import { expect, test } from "vitest";
import { costText, countText, durationText, elapsedText, markText, percentText } from "./number-text.ts";

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
  [0, "0.0s"],
  [3.44, "3.4s"],
  [9.97, "10s"],
  [59.7, "1m00s"],
  [245.3, "4m05s"],
])("a duration of %d seconds reads %s", (seconds, text) => {
  expect(durationText(seconds)).toBe(text);
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
