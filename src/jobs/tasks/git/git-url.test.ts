import { posix } from "node:path";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RolloutError } from "../../../base/rollout-error.ts";
import { decodePath, layoutOf, treeDirectory } from "./cache-layout.ts";
import { parseCommitId, parseGitUrl, parseTreePath } from "./git-url.ts";

describe("addresses", () => {
  test("the five schemes and user@host:path are taken", () => {
    for (const url of [
      "https://h/x",
      "http://h/x",
      "ssh://git@h:22/x",
      "git://h/x",
      "file:///x",
      "git@github.com:a/b.git",
    ]) {
      expect(parseGitUrl(` ${url} `).raw).toBe(url);
    }
    expect(parseGitUrl("git@github.com:a/b.git").isSsh).toBe(true);
  });

  test("everything else is refused without showing credentials", () => {
    for (const url of [
      "",
      "-x",
      "--upload-pack=x",
      "ext::sh -c x",
      "fd::7",
      "ftp://h/x",
      "/x",
      "../x",
      "C:\\x",
      "x",
      "https://h/a b",
      "https://h/\nx",
      "ssh://-o/x",
      "git@-o:x",
      "file:x",
      "a@b::c",
    ]) {
      expect(() => parseGitUrl(url), url).toThrow(RolloutError);
    }
    expect(() => parseGitUrl("ftp://me:hunter2@h/x")).toThrow(/^(?!.*hunter2)/);
  });

  test("credentials neither show nor change where a repository is cached", () => {
    const plain = parseGitUrl("https://h/x.git");
    const withToken = parseGitUrl("https://me:hunter2@h/x.git");
    expect(withToken).toMatchObject({ key: plain.key, shown: plain.shown, raw: "https://me:hunter2@h/x.git" });
    expect(parseGitUrl("https://h/y.git").key).not.toBe(plain.key);
  });
});

describe("paths", () => {
  test("a path is made plain", () => {
    expect(["a", "./a/", "a//b/.", ".", "", "./"].map(parseTreePath)).toEqual(["a", "a", "a/b", "", "", ""]);
  });

  test("what is taken never leaves the repository, and has a directory of its own in the cache", () => {
    const layout = layoutOf("/cache/x");
    const segment = fc.oneof(fc.constantFrom("..", ".", "", ".git", "a", "b", "%2E", "~", "\\", "..\\.."), fc.string());
    fc.assert(
      fc.property(fc.array(segment, { maxLength: 8 }), (segments) => {
        let path: string;
        try {
          path = parseTreePath(segments.join("/"));
        } catch (error) {
          expect(error).toBeInstanceOf(RolloutError);
          return;
        }
        expect(posix.join("/root", path).startsWith("/root")).toBe(true);
        const directory = treeDirectory(layout, "c", path);
        expect(posix.dirname(directory)).toBe("/cache/x/c");
        expect(posix.basename(directory)).not.toMatch(/^\.|^$/);
        expect(posix.basename(directory).length).toBeLessThanOrEqual(255);
        if (directory.length < 150) expect(decodePath(posix.basename(directory))).toBe(path === "" ? "." : path);
      }),
      { numRuns: 1_000 },
    );
  });

  test("long paths that start alike do not share a directory", () => {
    const layout = layoutOf("/cache/x");
    const [a, b] = ["a", "b"].map((end) => treeDirectory(layout, "c", `${"long/".repeat(80)}${end}`));
    expect(a).not.toBe(b);
    expect(decodePath(posix.basename(a ?? ""))).toMatch(/^long%2Flong.*…$/);
  });
});

test("commit ids are whole or left out", () => {
  expect(parseCommitId("AB".repeat(20))).toBe("ab".repeat(20));
  expect([null, "", "HEAD", "head"].map(parseCommitId)).toEqual([null, null, null, null]);
  for (const id of ["69671fb", "main", "v1.0", `${"ab".repeat(20)}c`, "-x"])
    expect(() => parseCommitId(id), id).toThrow(RolloutError);
});
