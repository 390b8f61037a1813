import { expect, test } from "vitest";
import { expandWord, splitWords } from "./expand-word.ts";

const variables: Readonly<Record<string, string>> = { A: "one", EMPTY: "" };
const expand = (word: string): string => expandWord(word, (name) => variables[name], "\\");

test("variables are put in where no single quotes are", () => {
  expect(expand("$A/${A}x")).toBe("one/onex");
  expect(expand('"$A and $B"')).toBe("one and ");
  expect(expand("'$A'\\$A")).toBe("$A$A");
  expect(expand("100$")).toBe("100$");
});

test("defaults and alternatives are understood, also with variables in them", () => {
  expect(expand("${B:-two}${B-${A}}")).toBe("twoone");
  expect(expand("[${EMPTY:-x}][${EMPTY-x}]")).toBe("[x][]");
  expect(expand("[${A:+set}][${B:+set}][${EMPTY:+set}]")).toBe("[set][][]");
});

test("words end at blanks outside of quotes", () => {
  expect(splitWords(`A="two words" B=it\\ 's  C='x "y'`, "\\")).toEqual(['A="two words"', "B=it\\ 's  C='x", "\"y'"]);
  expect(splitWords("  a  b\t c ", "\\")).toEqual(["a", "b", "c"]);
});

test("escapes between double quotes stay unless they mean something", () => {
  expect(expand('"a\\nb\\"c\\$A"')).toBe('a\\nb"c$A');
});
