import { describe, expect, test } from "vitest";
import { displayWidth } from "../base/terminal-text.ts";
import { joinParts, renderTable, wrapText, type Column } from "./text-table.ts";

const table: Column[] = [
  { title: "name", align: "left", cutTo: 11, shrinkTo: 4, cells: [{ text: "a-long-name" }, { text: "日本" }] },
  { title: "n", align: "right", cells: [{ text: "7" }, { text: "1,000" }] },
  { title: "nice", align: "left", drop: 1, cells: [{ text: "to have" }, { text: "x" }] },
  { title: "less", align: "left", drop: 2, cells: [{ text: "needed" }, { text: "y" }] },
];

describe("renderTable", () => {
  test("aligns by display width", () => {
    expect(renderTable(table, 80)).toEqual([
      "name             n  nice     less",
      "a-long-name      7  to have  needed",
      "日本         1,000  x        y",
    ]);
  });

  test("drops the least needed column first, then cuts what may be cut", () => {
    expect(renderTable(table, 30)[0]).toBe("name             n  nice");
    expect(renderTable(table, 20)[0]).toBe("name             n");
    expect(renderTable(table, 14)).toEqual(["name         n", "a-l…ame      7", "日本     1,000"]);
  });

  test("cuts long names in their middle before it drops a column, and only as far as it must", () => {
    const long: Column[] = [
      { title: "name", align: "left", cutTo: 8, shrinkTo: 4, cells: [{ text: "agent-with-a-long-name-1" }] },
      { title: "nice", align: "left", drop: 1, cells: [{ text: "to have" }] },
    ];
    expect(renderTable(long, 33)[1]).toBe("agent-with-a-long-name-1  to have");
    expect(renderTable(long, 28)[1]).toBe("agent-wit…ng-name-1  to have");
    expect(renderTable(long, 17)[1]).toBe("age…me-1  to have");
    expect(renderTable(long, 16)[1]).toBe("agent-w…g-name-1");
  });

  test("cuts names to half of that before a firm column goes", () => {
    const long: Column[] = [
      { title: "name", align: "left", cutTo: 16, shrinkTo: 4, cells: [{ text: "agent-with-a-long-name-1" }] },
      { title: "bar", align: "left", drop: 1, isFirm: true, cells: [{ text: "------" }] },
      { title: "time", align: "left", drop: 2, cells: [{ text: "12s" }] },
    ];
    expect(renderTable(long, 30)[1]).toBe("agent-w…g-name-1  ------  12s");
    expect(renderTable(long, 29)[1]).toBe("agent-with…ong-name-1  ------");
    expect(renderTable(long, 16)[1]).toBe("age…me-1  ------");
    expect(renderTable(long, 15)[1]).toBe("agent-w…-name-1");
  });

  test("columns with the same number go together", () => {
    const pair: Column[] = ["pass", "pass@2", "pass^2"].map((title, index) => ({
      title,
      align: "left",
      drop: index === 0 ? undefined : 4,
      cells: [{ text: "x" }],
    }));
    expect(renderTable(pair, 20)[0]).toBe("pass  pass@2  pass^2");
    expect(renderTable(pair, 19)[0]).toBe("pass");
  });

  test("emphasis does not count as width", () => {
    const shout = (text: string): string => `\x1b[1m${text}\x1b[22m`;
    const painted = renderTable([{ title: "t", align: "right", cells: [{ text: "abcdef", paint: shout }] }], 80);
    expect(painted).toEqual(["     t", "\x1b[1mabcdef\x1b[22m"]);
  });

  test("is never wider than asked while its columns can give way", () => {
    for (let columns = 11; columns < 60; columns++) {
      for (const line of renderTable(table, columns)) expect(displayWidth(line)).toBeLessThanOrEqual(columns);
    }
  });

  test("has no title line when no column has a title", () => {
    expect(renderTable([{ title: "", align: "left", cells: [{ text: "x" }] }], 10)).toEqual(["x"]);
    expect(renderTable([], 10)).toEqual([]);
  });
});

test("parts are broken only between one another", () => {
  const parts = ["12 passed", "3 failed", "4 running"].map((text) => ({ text }));
  expect(joinParts(parts, " · ", 22)).toEqual(["12 passed · 3 failed", "4 running"]);
  expect(joinParts(parts, " · ", 6)).toEqual(["12 pa…", "3 fai…", "4 run…"]);
  expect(joinParts([], " · ", 6)).toEqual([]);
});

describe("wrapText", () => {
  test("breaks between words and shows that something is missing", () => {
    expect(wrapText("one two three four", 9, 5)).toEqual(["one two", "three", "four"]);
    expect(wrapText("one two three four", 9, 2)).toEqual(["one two", "three …"]);
    expect(wrapText("", 9, 2)).toEqual([]);
  });

  test("breaks a word that is too long", () => {
    expect(wrapText("incomprehensible word", 8, 3)).toEqual(["incompre", "hensible", "word"]);
  });
});
