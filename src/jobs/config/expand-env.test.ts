import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { expandText, expandTree } from "./expand-env.ts";

const variables = { KEY: "k-value", EMPTY: "", OTHER: "other", BRACES: "a}b${KEY}" };

describe("expandText", () => {
  test.each([
    ["${KEY}", "k-value"],
    ["Bearer ${KEY}!", "Bearer k-value!"],
    ["${KEY}${OTHER}", "k-valueother"],
    ["${KEY:-x}", "k-value"],
    ["${NONE:-x}", "x"],
    ["${NONE:-}", ""],
    ["${EMPTY}", ""],
    ["${EMPTY:-x}", "x"],
    ["${NONE:-http://h:80/p?a=b}", "http://h:80/p?a=b"],
    ["${NONE:-${KEY}}", "k-value"],
    ["${KEY:-${OTHER}}", "k-value"],
    ["${NONE:-a-${NIL:-${OTHER}}-b}", "a-other-b"],
    ["${NONE:-x}}", "x}"],
    ["${BRACES}", "a}b${KEY}"],
  ])("%s becomes %j", (template, expected) => {
    expect(expandText(template, variables)).toMatchObject({ text: expected, missing: [] });
  });

  test.each([
    "$KEY",
    "$$KEY",
    "${}",
    "${ KEY }",
    "${1KEY}",
    "${KEY",
    "${KEY:-x",
    "${KEY:+x}",
    "${KEY-x}",
    "$(KEY)",
    "%KEY%",
    "{KEY}",
  ])("%s stays as it is", (template) => {
    expect(expandText(template, variables)).toEqual({ text: template, missing: [], secrets: [] });
  });

  test("an unfinished reference does not hide the one after it", () => {
    expect(expandText("${KEY:- ${KEY}", variables).text).toBe("${KEY:- k-value");
  });

  test("every missing name is told, also one that a default needs", () => {
    expect(expandText("${A} ${B:-${C}} ${A}", {}).missing).toEqual(["A", "C", "A"]);
  });

  test("a name that every object knows is not a variable", () => {
    expect(expandText("${constructor} ${toString} ${__proto__}", {}).missing).toEqual([
      "constructor",
      "toString",
      "__proto__",
    ]);
  });

  test("values of variables are secret, defaults and empty values are not", () => {
    expect(expandText("${KEY} ${NONE:-plain} ${EMPTY} ${NIL:-${OTHER}}", variables).secrets).toEqual([
      { name: "KEY", value: "k-value" },
      { name: "OTHER", value: "other" },
    ]);
  });

  test("text without a reference is never changed", () => {
    const text = fc
      .string({ unit: fc.constantFrom("$", "{", "}", ":", "-", "A", " ") })
      .filter((value) => !/\$\{A/.test(value));
    fc.assert(
      fc.property(text, (value) => {
        expect(expandText(value, { A: "x" }).text).toBe(value);
      }),
    );
  });

  test("any text expands without an error and without the names it was not given", () => {
    const piece = fc.constantFrom("${", "}", "A", "B", ":-", "$", "x", "${A}", "${B:-", "${A:-y}");
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const { missing } = expandText(pieces.join(""), { A: "1" });
        expect(missing).not.toContain("A");
      }),
    );
  });
});

describe("expandTree", () => {
  test("expands strings at every depth, leaves keys and other values alone", () => {
    const value = { "${KEY}": ["${KEY}", 1, null, { deep: "${OTHER}", flag: true }] };
    expect(expandTree(value, variables).value).toEqual({
      "${KEY}": ["k-value", 1, null, { deep: "other", flag: true }],
    });
  });

  test("tells where a name is missing", () => {
    const { missing } = expandTree({ list: [{ url: "x" }, { url: "${NONE}" }] }, {}, [
      "environment",
      "provider_config",
    ]);
    expect(missing).toEqual([{ path: ["environment", "provider_config", "list", 1, "url"], name: "NONE" }]);
  });

  test("does not change what it was given", () => {
    const value = { a: ["${KEY}"] };
    expandTree(value, variables);
    expect(value).toEqual({ a: ["${KEY}"] });
  });
});
