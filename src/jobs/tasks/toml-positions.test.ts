import * as fc from "fast-check";
import { parse, stringify } from "smol-toml";
import { describe, expect, test } from "vitest";
import { findTomlKeys } from "./toml-positions.ts";

function at(text: string, ...path: (string | number)[]): string | undefined {
  const found = findTomlKeys(text).find(path);
  return found && `${found.line}:${found.column}`;
}

describe("finding keys", () => {
  test("keys of the top, of tables, dotted and quoted", () => {
    const text = 'a = 1\n\n[b]\n  c = 2\n[b."d e"]\nf.g = 3\n\'h.i\' = 4\n"j\\u0041" = 5\n';
    expect(at(text, "a")).toBe("1:1");
    expect(at(text, "b", "c")).toBe("4:3");
    expect(at(text, "b", "d e", "f", "g")).toBe("6:3");
    expect(at(text, "b", "d e", "h.i")).toBe("7:1");
    expect(at(text, "b", "d e", "jA")).toBe("8:1");
  });

  test("items of arrays of tables and tables inside them", () => {
    const text = "[[s]]\na = 1\n[s.t]\nb = 1\n[[s]]\na = 2\n[s.t]\nb = 2\n";
    expect(at(text, "s")).toBe("1:3");
    expect(at(text, "s", 1)).toBe("5:3");
    expect(at(text, "s", 1, "a")).toBe("6:1");
    expect(at(text, "s", 1, "t", "b")).toBe("8:1");
  });

  test("inline tables and arrays over several lines", () => {
    const text = "x = [ 1, # one\n  { y = 2, z = [3,\n4] },\n]\nlast = 1\n";
    expect(at(text, "x", 0)).toBe("1:7");
    expect(at(text, "x", 1, "y")).toBe("2:5");
    expect(at(text, "x", 1, "z", 1)).toBe("3:1");
    expect(at(text, "last")).toBe("5:1");
  });

  test("strings hide what looks like keys", () => {
    const text = 'a = """\n[b]\nc = 1 \\"""\n"""\nd = \'\'\'\ne = 1\'\'\'\nf = "# \\" x" # g = 1\nh = 2\n';
    expect(at(text, "b")).toBeUndefined();
    expect(at(text, "e")).toBeUndefined();
    expect(at(text, "h")).toBe("8:1");
  });

  test("a key that is not there has the place of its nearest parent", () => {
    expect(at("[a]\nb = 1\n", "a", "missing", 3)).toBe("1:2");
    expect(at("[a]\n", "z")).toBeUndefined();
  });
});

test("every key of a document that was written is found on a line that holds it", () => {
  const word = fc.stringMatching(/^[a-z"' .é]{1,6}$/).filter((key) => key !== "__proto__");
  const { tree } = fc.letrec((tie) => ({
    tree: fc.dictionary(word, tie("value"), { maxKeys: 4 }),
    value: fc.oneof(
      { depthSize: "small" },
      fc.integer(),
      fc.string(),
      fc.boolean(),
      fc.array(fc.integer(), { maxLength: 3 }),
      tie("tree"),
    ),
  }));
  fc.assert(
    fc.property(tree, (document) => {
      const text = stringify(document);
      const positions = findTomlKeys(text);
      for (const key of Object.keys(parse(text))) {
        const found = positions.find([key]);
        const line = text.split("\n")[(found?.line ?? 0) - 1] ?? "";
        expect(line).toContain(/^[a-z]+$/.test(key) ? key : "");
        expect(found).toBeDefined();
      }
    }),
  );
});

test("no text makes it throw or hang", () => {
  const token = fc.constantFrom(
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "\n",
    '"',
    "'",
    '"""',
    "'''",
    "#",
    "\\",
    "a",
    " ",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.array(token, { maxLength: 60 }).map((all) => all.join("")),
      ),
      (text) => {
        findTomlKeys(text).find(["a", 0, "a"]);
      },
    ),
    { numRuns: 2_000 },
  );
  for (const unit of ["[", "{a=", "a.", "[a.", "a=[", '"', "'''"]) findTomlKeys(unit.repeat(50_000)).find(["a"]);
});
