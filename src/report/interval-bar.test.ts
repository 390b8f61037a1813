import { expect, test } from "vitest";
import { intervalBar, paintBar } from "./interval-bar.ts";
import { createStyle } from "./style.ts";

const style = createStyle({ colour: false, unicode: true });

test("an interval is drawn on its scale with its estimate as a point", () => {
  expect(intervalBar(0.4, 0.9, 0.7, 11, style)).toBe("────━━━●━━─");
  expect(intervalBar(0, 1, 0, 5, style)).toBe("●━━━━");
  expect(intervalBar(0.565, 1, 1, 11, style)).toBe("──────━━━━●");
});

test("an interval without a point and without Unicode can be drawn too", () => {
  expect(intervalBar(0.2, 0.4, null, 11, createStyle({ colour: false, unicode: false }))).toBe("..===......");
});

test("what lies outside the scale is drawn at its end", () => {
  expect(intervalBar(-1, 2, 3, 4, style)).toBe("━━━●");
});

test("only the range is coloured", () => {
  const colour = createStyle({ colour: true, unicode: true });
  expect(paintBar("──━●──", colour, colour.cyan)).toBe("\x1b[2m──\x1b[22m\x1b[36m━●\x1b[39m\x1b[2m──\x1b[22m");
});
