import assert from "node:assert/strict";
import { readFile, readlink } from "node:fs/promises";
import { join } from "node:path";
import type { Placement } from "../environment.ts";
import type { ConformanceCase } from "./conformance-case.ts";
import { makeTree, placeAndRead, textFile } from "./place-and-read.ts";
import { readBack } from "./read-back.ts";

/** How what is put into an environment takes the place of what was there. */
export const replacementCases: readonly ConformanceCase[] = [
  {
    title: "a file that is placed again is replaced, mode included",
    needs: [],
    async run(subject) {
      const target = `${subject.scratch}/file`;
      const summary = await placeAndRead(
        subject,
        [textFile(target, "a longer first text", 0o644)],
        [textFile(target, "2", 0o755)],
      );
      assert.match(summary["file"] ?? "", /^file 755 1 /);
    },
  },
  {
    title: "a file placed where a link stands replaces the link and leaves its target alone",
    needs: [],
    async run(subject) {
      const { scratch } = subject;
      const first: Placement[] = [
        textFile(`${scratch}/target`, "old"),
        { kind: "link", target: `${scratch}/name`, to: "target" },
      ];
      const summary = await placeAndRead(subject, first, [textFile(`${scratch}/name`, "newer")]);
      assert.match(summary["target"] ?? "", /^file 644 3 /);
      assert.match(summary["name"] ?? "", /^file 644 5 /);
    },
  },
  {
    title: "a placed tree replaces the old one instead of merging into it",
    needs: [],
    async run(subject) {
      const target = `${subject.scratch}/tree`;
      const first = await makeTree(subject, "first", { "old.txt": "old", "both.txt": "first", "sub/old.txt": "old" });
      const second = await makeTree(subject, "second", { "both.txt": "second", "sub/new.txt": "new" });
      const summary = await placeAndRead(
        subject,
        [{ kind: "tree", source: first, target }],
        [{ kind: "tree", source: second, target }],
      );
      assert.deepEqual(Object.keys(summary), ["", "tree", "tree/both.txt", "tree/sub", "tree/sub/new.txt"]);
      assert.match(summary["tree/both.txt"] ?? "", /^file 644 6 /);
    },
  },
  {
    title: "a tree placed where a file or a link stands replaces it",
    needs: [],
    async run(subject) {
      const { scratch } = subject;
      const source = await makeTree(subject, "source", { "file.txt": "x" });
      const summary = await placeAndRead(
        subject,
        [
          textFile(`${scratch}/a`, "a file"),
          { kind: "directory", target: `${scratch}/real` },
          { kind: "link", target: `${scratch}/b`, to: "real" },
        ],
        [
          { kind: "tree", source, target: `${scratch}/a` },
          { kind: "tree", source, target: `${scratch}/b` },
        ],
      );
      assert.deepEqual(Object.keys(summary), ["", "a", "a/file.txt", "b", "b/file.txt", "real"]);
    },
  },
  {
    title: "a placed directory is empty and writable for all",
    needs: [],
    async run(subject) {
      const target = `${subject.scratch}/open`;
      const summary = await placeAndRead(
        subject,
        [textFile(`${target}/old/file`, "old")],
        [{ kind: "directory", target }],
      );
      assert.deepEqual(Object.keys(summary), ["", "open"]);
      assert.equal(summary["open"], "directory 777");
    },
  },
  {
    title: "a placed link leads to its target and replaces what stood there",
    needs: [],
    async run(subject) {
      const { scratch, signal } = subject;
      const environment = await subject.createEnvironment({
        place: [textFile(`${scratch}/real/file`, "found"), textFile(`${scratch}/way`, "")],
      });
      await environment.copyTo([{ kind: "link", target: `${scratch}/way`, to: `${scratch}/elsewhere` }], signal);
      await environment.copyTo([{ kind: "link", target: `${scratch}/way`, to: `${scratch}/real` }], signal);
      const { path } = await readBack(subject, environment, `${scratch}/way/file`);
      assert.equal(await readFile(path, "utf8"), "found");
      await environment.copyTo([{ kind: "link", target: `${scratch}/real/relative`, to: "file" }], signal);
      assert.equal(
        await readlink(join((await readBack(subject, environment, `${scratch}/real`)).path, "relative")),
        "file",
      );
    },
  },
  {
    title: "removing takes away files, directories and links but never what a link points to",
    needs: [],
    async run(subject) {
      const { scratch } = subject;
      const remove = (name: string): Placement => ({ kind: "remove", target: `${scratch}/${name}` });
      const summary = await placeAndRead(
        subject,
        [
          textFile(`${scratch}/file`, ""),
          textFile(`${scratch}/kept/file`, ""),
          textFile(`${scratch}/directory/a/b`, ""),
        ],
        [{ kind: "link", target: `${scratch}/link`, to: "kept" }],
        [remove("file"), remove("directory"), remove("link"), remove("was/never/there")],
      );
      assert.deepEqual(Object.keys(summary), ["", "kept", "kept/file"]);
    },
  },
  {
    title: "things are placed in the order they are given",
    needs: [],
    async run(subject) {
      const target = `${subject.scratch}/place`;
      const summary = await placeAndRead(subject, [
        textFile(`${target}/first`, "1"),
        { kind: "remove", target },
        textFile(`${target}/second`, "2"),
        { kind: "directory", target: `${subject.scratch}/other` },
        textFile(`${subject.scratch}/other/third`, "3"),
      ]);
      assert.deepEqual(Object.keys(summary), ["", "other", "other/third", "place", "place/second"]);
    },
  },
];
