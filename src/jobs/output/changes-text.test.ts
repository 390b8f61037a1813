import { expect, test } from "vitest";
import { createRedactor, noSecrets, type Redactor } from "../../base/redactor.ts";
import type { ChangeReport, ContentReader, FileChange } from "../../environments/environment.ts";
import { describeChanges } from "./changes-text.ts";

interface Sides {
  readonly before?: string | Uint8Array;
  readonly after?: string | Uint8Array;
}

/** A file is changed if it has both sides. */
function reportOf(
  files: Readonly<Record<string, Sides>>,
  more: readonly FileChange[] = [],
  overrides: Partial<ChangeReport> = {},
): ChangeReport {
  const read =
    (side: keyof Sides): ContentReader =>
    async (path, maxBytes) => {
      const content = files[path]?.[side];
      const bytes = content === undefined ? null : Buffer.from(content);
      return bytes !== null && bytes.length <= maxBytes ? bytes : null;
    };
  const changes = Object.entries(files).map(([path, { before, after }]): FileChange => {
    const kind = after === undefined ? "removed" : before === undefined ? "added" : "changed";
    return { path, kind, type: "file", size: after === undefined ? undefined : Buffer.from(after).length };
  });
  return {
    changes: [...more, ...changes],
    isCut: false,
    readAfter: read("after"),
    readBefore: read("before"),
    ...overrides,
  };
}

async function textOf(report: ChangeReport, redactor: Redactor = noSecrets): Promise<string> {
  return describeChanges(report, { directory: "/app", redactor, signal: new AbortController().signal });
}

test("lists added, changed and removed files and shows their diffs, the changed ones first", async () => {
  const files = {
    "a.txt": { after: "one\ntwo" },
    "b.txt": { before: "same\nold\n", after: "same\nnew\n" },
    "c.txt": { before: "gone\n" },
  };
  expect(await textOf(reportOf(files))).toBe(`1 added, 1 changed, 1 removed in /app

added    a.txt (7 bytes)
changed  b.txt (9 bytes)
removed  c.txt

--- a/b.txt
+++ b/b.txt
@@ -1,2 +1,2 @@
 same
-old
+new

--- a/a.txt
+++ b/a.txt
@@ -0,0 +1,2 @@
+one
+two
\\ No newline at end of file
`);
});

test("names links, modes, binary files and other things without showing them", async () => {
  const text = await textOf(
    reportOf({ "data.bin": { after: new Uint8Array([1, 0, 2]) }, latin: { after: new Uint8Array([0xe9, 0x0a]) } }, [
      { path: "link", kind: "added", type: "link", linkTarget: "/etc/passwd" },
      { path: "pipe", kind: "added", type: "other" },
      { path: "run.sh", kind: "changed", type: "file", size: 2, modes: [0o644, 0o755] },
    ]),
  );
  expect(text.split("\n").slice(2, 7)).toEqual([
    "added    data.bin (3 bytes, binary)",
    "added    latin (2 bytes, binary)",
    "added    link -> /etc/passwd",
    "added    pipe (not a regular file)",
    "changed  run.sh (2 bytes, mode 644 -> 755)",
  ]);
  expect(text).not.toContain("+++");
});

test("an added directory is listed by its files, or as one line if they are many", async () => {
  const directory = (path: string): FileChange => ({ path, kind: "added", type: "directory" });
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`many/${n}`, { after: "x\n" }]));
  const text = await textOf(
    reportOf(
      { ...many, "few/one": { after: "x\n" }, "few-more": { after: "y\n" } },
      ["many", "few", "empty"].map(directory),
    ),
  );
  expect(text.split("\n\n")[1]?.split("\n")).toEqual([
    "added    empty/",
    "added    few/one (2 bytes)",
    "added    few-more (2 bytes)",
    "added    many/ (101 files)",
  ]);
  expect(text).toMatch(/^103 added/);
});

test("lists 500 paths and counts the rest", async () => {
  const files = Object.fromEntries(Array.from({ length: 510 }, (_, n) => [`f${n}`, { before: "x" }]));
  const lines = (await textOf(reportOf(files, [], { isCut: true }))).split("\n");
  expect(lines.filter((line) => line.startsWith("removed"))).toHaveLength(500);
  expect(lines.slice(-3, -1)).toEqual([
    "… and 10 more",
    "… the list is not complete: there are too many files, or some may not be read",
  ]);
});

test("says why there is no diff: no original, too large, unreadable, too different, no room left", async () => {
  expect(await textOf(reportOf({ a: { before: "x", after: "y" } }, [], { readBefore: undefined }))).toContain(
    "no diff of 1 file: the environment does not provide the original",
  );
  expect(await textOf(reportOf({ a: { after: "x".repeat(300_000) } }))).toContain(
    "no diff of 1 file: larger than 256 KiB",
  );
  expect(await textOf(reportOf({}, [{ path: "a", kind: "added", type: "file", size: 1 }]))).toContain(
    "no diff of 1 file: could not be read",
  );
  const lines = (mark: string): string => Array.from({ length: 5000 }, (_, n) => `${mark}${n}\n`).join("");
  expect(await textOf(reportOf({ a: { before: lines("a"), after: lines("b") } }))).toContain(
    "no diff of 1 file: too many differences",
  );
  const large = await textOf(reportOf({ a: { after: "line\n".repeat(20_000) }, b: { after: "b\n" } }));
  expect(large).toMatch(/^… \d+ more lines of this diff$/m);
  expect(large).toContain("no diff of 1 file: the diffs above reach the limit of 64 KiB");
  expect(large.length).toBeLessThan(70_000);
});

test("hostile names and contents cannot drive a terminal or forge a line", async () => {
  const text = await textOf(
    reportOf({ "a\nremoved  b\x1b[2J\u202e\\": { after: "\x1b]0;title\x07\r\nnext\tline\u200b\n" } }),
  );
  expect(text).toContain("added    a\\nremoved  b\\x1b[2J\\u{202e}\\\\ (");
  expect(text).toContain("+\\x1b]0;title\\x07\\r\n+next\tline\\u{200b}\n");
  expect(text).not.toMatch(/[\x00-\x08\x0b-\x1f]/);
});

test("a long line is cut", async () => {
  const text = await textOf(reportOf({ "min.js": { after: `${"x".repeat(5000)}\n` } }));
  expect(text).toContain(`+${"x".repeat(499)}… (4501 more characters)`);
});

test("secrets are taken out of names and contents, also those of several lines and those at a cut", async () => {
  const redactor = createRedactor([{ name: "KEY", value: "first-line-of-it\nsecond-line-of-it" }]);
  const content = "x\nfirst-line-of-it\nsecond-line-of-it\ny\n";
  const text = await textOf(
    reportOf({ "k-first-line-of-it\nsecond-line-of-it": { before: "x\ny\n", after: content } }),
    redactor,
  );
  expect(text).not.toMatch(/(first|second)-line/);
  expect(text).toContain("+[redacted:KEY]\n");
  expect(text).toContain("changed  k-[redacted:KEY] (");
});
