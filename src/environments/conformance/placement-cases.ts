import assert from "node:assert/strict";
import { chmod, lstat, mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { Placement } from "../environment.ts";
import type { ConformanceCase } from "./conformance-case.ts";
import { makeTree, textFile } from "./place-and-read.ts";
import { readBack, summarizeTree } from "./read-back.ts";

/** What is put into an environment and how it arrives. */
export const placementCases: readonly ConformanceCase[] = [
  {
    title: "a placed file has its bytes and its mode, and its parents are made",
    needs: [],
    async run(subject) {
      const content = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
      const environment = await subject.createEnvironment();
      for (const mode of [0o755, 0o644, 0o600]) {
        const target = `${subject.scratch}/deep/er/file-${mode}`;
        await environment.copyTo([{ kind: "file", content, target, mode }], subject.signal);
        const { path } = await readBack(subject, environment, target);
        assert.deepEqual(await readFile(path), content);
        assert.equal((await lstat(path)).mode & 0o777, mode);
      }
    },
  },
  {
    title: "text is placed as UTF-8",
    needs: [],
    async run(subject) {
      const environment = await subject.createEnvironment({
        place: [textFile(`${subject.scratch}/text`, "größe 世界 🎉\n")],
      });
      const { path } = await readBack(subject, environment, `${subject.scratch}/text`);
      assert.equal(await readFile(path, "utf8"), "größe 世界 🎉\n");
    },
  },
  {
    title: "modes, empty directories, empty files and links of a tree are kept",
    needs: [],
    async run(subject) {
      const source = await makeTree(subject, "source", {
        run: "#!/bin/sh\n",
        private: "p",
        empty: "",
        "sub/file": "f",
      });
      await chmod(join(source, "run"), 0o755);
      await chmod(join(source, "private"), 0o600);
      await mkdir(join(source, "hollow"), { mode: 0o750 });
      await symlink("run", join(source, "link"));
      await symlink("../private", join(source, "sub/up"));
      await symlink("sub", join(source, "directory-link"));
      await symlink("nowhere", join(source, "dangling"));
      const environment = await subject.createEnvironment({
        place: [{ kind: "tree", source, target: `${subject.scratch}/t` }],
      });
      const { path, report } = await readBack(subject, environment, `${subject.scratch}/t`);
      assert.deepEqual(await summarizeTree(path, subject.signal), await summarizeTree(source, subject.signal));
      assert.deepEqual(report.refused, []);
    },
  },
  {
    title: "names with spaces, quotes, line breaks, leading dashes and other alphabets are kept",
    needs: [],
    async run(subject) {
      const names = [
        "with space",
        "-rf",
        "line\nbreak",
        "tab\there",
        "größe-世界-🎉",
        'it\'s "q"',
        "back\\slash",
        "*?[x]",
        "..dots",
        "$HOME",
        "~",
        "#",
      ];
      const source = await makeTree(
        subject,
        "source",
        Object.fromEntries(names.map((name) => [`${name}/${name}`, name])),
      );
      const environment = await subject.createEnvironment({
        place: [{ kind: "tree", source, target: `${subject.scratch}/- odd` }],
      });
      const { path } = await readBack(subject, environment, `${subject.scratch}/- odd`);
      assert.deepEqual(await summarizeTree(path, subject.signal), await summarizeTree(source, subject.signal));
    },
  },
  {
    title: "copies in that run at the same time all arrive",
    needs: [],
    async run(subject) {
      const environment = await subject.createEnvironment({ place: [{ kind: "directory", target: subject.scratch }] });
      const names = Array.from({ length: 12 }, (_, index) => `file-${index}`);
      await Promise.all(
        names.map((name) => environment.copyTo([textFile(`${subject.scratch}/${name}`, name)], subject.signal)),
      );
      assert.equal((await readBack(subject, environment, subject.scratch)).report.files, names.length);
    },
  },
  {
    title: "placing a tree that does not exist is refused",
    needs: [],
    async run({ createEnvironment, hostDir, scratch, signal }) {
      const environment = await createEnvironment();
      const missing: Placement = { kind: "tree", source: join(hostDir, "missing"), target: `${scratch}/tree` };
      await assert.rejects(environment.copyTo([missing], signal), RolloutError);
    },
  },
  {
    title: "a copy in whose signal is already aborted changes nothing",
    needs: [],
    async run(subject) {
      const environment = await subject.createEnvironment({ place: [{ kind: "directory", target: subject.scratch }] });
      const reason = new RolloutError("copy_failed", "aborted before the start");
      const copying = environment.copyTo([textFile(`${subject.scratch}/file`, "")], AbortSignal.abort(reason));
      await assert.rejects(copying, (error) => error === reason);
      assert.equal((await readBack(subject, environment, subject.scratch)).report.files, 0);
    },
  },
];
