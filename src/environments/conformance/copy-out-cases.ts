import assert from "node:assert/strict";
import { lstat, mkdir, open, readFile, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { RolloutError } from "../../base/rollout-error.ts";
import type { CopyReport, Placement } from "../environment.ts";
import type { ConformanceCase } from "./conformance-case.ts";
import { textFile } from "./place-and-read.ts";
import { readBack, summarizeTree } from "./read-back.ts";
import { runScript } from "./run-command.ts";

function link(target: string, to: string): Placement {
  return { kind: "link", target, to };
}

/** What leaves an environment, and what must not. */
export const copyOutCases: readonly ConformanceCase[] = [
  {
    title: "a directory is copied out as it is, with a count of its files and bytes",
    needs: [],
    async run(subject) {
      const { scratch } = subject;
      const environment = await subject.createEnvironment({
        place: [
          textFile(`${scratch}/out/a`, "12345"),
          textFile(`${scratch}/out/sub/b`, "678"),
          textFile(`${scratch}/beside`, ""),
        ],
      });
      const { path, report } = await readBack(subject, environment, `${scratch}/out`);
      assert.deepEqual(report, { files: 2, bytes: 8, refused: [] });
      assert.deepEqual(Object.keys(await summarizeTree(path, subject.signal)), ["", "a", "sub", "sub/b"]);
    },
  },
  {
    title: "a single file is copied out to the path that was asked for",
    needs: [],
    async run(subject) {
      const environment = await subject.createEnvironment({
        place: [textFile(`${subject.scratch}/reward.txt`, "1\n")],
      });
      const { path, report } = await readBack(subject, environment, `${subject.scratch}/reward.txt`);
      assert.equal(await readFile(path, "utf8"), "1\n");
      assert.deepEqual(report, { files: 1, bytes: 2, refused: [] });
    },
  },
  {
    title: "a copy out leaves what stands in the directory, and writes under another name what it is told to",
    needs: [],
    async run(subject) {
      const { scratch, hostDir, signal } = subject;
      const environment = await subject.createEnvironment({
        place: [textFile(`${scratch}/out/sub/theirs`, "theirs"), textFile(`${scratch}/out/sub/new`, "new")],
      });
      const target = join(hostDir, "merged");
      await mkdir(join(target, "sub"), { recursive: true });
      await writeFile(join(target, "sub", "theirs"), "ours");
      const renames = { "sub/theirs": "sub/theirs.copy" };
      await environment.copyFrom({ source: `${scratch}/out`, target, renames, signal });
      assert.equal(await readFile(join(target, "sub", "theirs"), "utf8"), "ours");
      assert.equal(await readFile(join(target, "sub", "theirs.copy"), "utf8"), "theirs");
      assert.equal(await readFile(join(target, "sub", "new"), "utf8"), "new");
    },
  },
  {
    title: "an empty directory is copied out",
    needs: [],
    async run(subject) {
      const environment = await subject.createEnvironment({
        place: [{ kind: "directory", target: `${subject.scratch}/empty` }],
      });
      const { path, report } = await readBack(subject, environment, `${subject.scratch}/empty`);
      assert.deepEqual(await readdir(path), []);
      assert.deepEqual(report, { files: 0, bytes: 0, refused: [] });
    },
  },
  {
    title: "a copy out leaves files that would be too much, and ends where there are too many entries",
    needs: [],
    async run(subject) {
      const { scratch, hostDir, signal } = subject;
      const environment = await subject.createEnvironment({
        place: [textFile(`${scratch}/out/a`, "12345"), textFile(`${scratch}/out/b`, "x".repeat(5000))],
      });
      const source = `${scratch}/out`;
      const copy = (name: string, entries: number, bytes: number): Promise<CopyReport> =>
        environment.copyFrom({ source, target: join(hostDir, name), limits: { entries, bytes }, signal });
      const small = await copy("small", 100, 1000);
      assert.deepEqual([small.files, small.bytes, small.isCut ?? false], [1, 5, false]);
      assert.deepEqual(
        small.refused.map(({ path }) => path),
        ["b"],
      );
      assert.deepEqual(await readdir(join(hostDir, "small")), ["a"]);
      const few = await copy("few", 2, 1e6);
      assert.deepEqual([few.files, few.refused.length, few.isCut], [1, 1, true]);
      assert.equal((await readdir(join(hostDir, "few"))).length, 1);
    },
  },
  {
    title: "copying out what is not there rejects with not_found",
    needs: [],
    async run(subject) {
      const environment = await subject.createEnvironment();
      const isNotFound = (error: unknown): boolean => error instanceof RolloutError && error.code === "not_found";
      await assert.rejects(readBack(subject, environment, `${subject.scratch}/missing/deep`), isNotFound);
    },
  },
  {
    title: "two thousand small files go in and come out unchanged",
    needs: [],
    async run(subject) {
      const source = join(subject.hostDir, "many");
      for (let folder = 0; folder < 20; folder++) {
        await mkdir(join(source, `folder-${folder}`), { recursive: true });
        const files = Array.from({ length: 100 }, (_, index) => index);
        await Promise.all(
          files.map((index) => writeFile(join(source, `folder-${folder}`, `${index}.txt`), `${folder}/${index}\n`)),
        );
      }
      const environment = await subject.createEnvironment({
        place: [{ kind: "tree", source, target: `${subject.scratch}/many` }],
      });
      const { path, report } = await readBack(subject, environment, `${subject.scratch}/many`);
      assert.equal(report.files, 2000);
      assert.deepEqual(await summarizeTree(path, subject.signal), await summarizeTree(source, subject.signal));
    },
  },
  {
    title: "a file of 64 megabytes goes in and comes out unchanged",
    needs: [],
    async run(subject) {
      const source = join(subject.hostDir, "large");
      await mkdir(source);
      const file = await open(join(source, "large.bin"), "w");
      for (let block = 0; block < 64; block++) await file.write(Buffer.alloc(2 ** 20, `block ${block} `));
      await file.close();
      const environment = await subject.createEnvironment({
        place: [{ kind: "tree", source, target: `${subject.scratch}/large` }],
      });
      const { path, report } = await readBack(subject, environment, `${subject.scratch}/large`);
      assert.equal(report.bytes, 64 * 2 ** 20);
      assert.deepEqual(await summarizeTree(path, subject.signal), await summarizeTree(source, subject.signal));
    },
  },
  {
    title: "links that lead out of the tree are refused and reported while their neighbours arrive",
    needs: [],
    async run(subject) {
      const root = `${subject.scratch}/out`;
      const environment = await subject.createEnvironment({
        place: [
          textFile(`${subject.scratch}/secret`, "secret"),
          textFile(`${root}/good/file`, "good"),
          link(`${root}/inside`, "good/file"),
          link(`${root}/absolute`, "/etc/passwd"),
          link(`${root}/up`, "../secret"),
          link(`${root}/good/top`, ".."),
          link(`${root}/through`, "good/top/../secret"),
        ],
      });
      const { path, report } = await readBack(subject, environment, root);
      assert.deepEqual(report.refused.map((entry) => entry.path).sort(), ["absolute", "through", "up"]);
      assert.ok(report.refused.every((entry) => entry.reason !== ""));
      assert.deepEqual(Object.keys(await summarizeTree(path, subject.signal)), [
        "",
        "good",
        "good/file",
        "good/top",
        "inside",
      ]);
      assert.equal(await readFile(join(path, "inside"), "utf8"), "good");
    },
  },
  {
    title: "a link that is asked for by name is not followed out",
    needs: [],
    async run(subject) {
      const { scratch } = subject;
      const environment = await subject.createEnvironment({
        place: [textFile(`${scratch}/secret`, "secret"), link(`${scratch}/out/reward.txt`, "../secret")],
      });
      const { path, report } = await readBack(subject, environment, `${scratch}/out/reward.txt`);
      assert.equal(report.refused.length, 1);
      await assert.rejects(lstat(path), { code: "ENOENT" });
    },
  },
  {
    title: "setuid, setgid and sticky bits do not reach the host",
    needs: [],
    async run(subject) {
      const environment = await subject.createEnvironment({
        place: [textFile(`${subject.scratch}/out/tool`, "", 0o4755)],
      });
      const { path } = await readBack(subject, environment, `${subject.scratch}/out`);
      assert.equal((await lstat(join(path, "tool"))).mode & 0o7777, 0o755);
    },
  },
  {
    title: "pipes and devices are refused and reported while their neighbours arrive",
    needs: ["shell"],
    async run(subject) {
      const { scratch, signal } = subject;
      const environment = await subject.createEnvironment({ place: [textFile(`${scratch}/out/file`, "good")] });
      // Not every environment may make devices.
      const script = "mkfifo pipe && { mknod device c 1 3 2>/dev/null || mkfifo device; }";
      assert.equal((await runScript(environment, script, { signal, cwd: `${scratch}/out` })).exitCode, 0);
      const { path, report } = await readBack(subject, environment, `${scratch}/out`);
      assert.deepEqual(report.refused.map((entry) => entry.path).sort(), ["device", "pipe"]);
      assert.deepEqual(await readdir(path), ["file"]);
    },
  },
  {
    title: "a copy out whose signal is already aborted writes nothing",
    needs: [],
    async run({ createEnvironment, hostDir, scratch }) {
      const environment = await createEnvironment({ place: [textFile(`${scratch}/file`, "")] });
      const reason = new RolloutError("copy_failed", "aborted before the start");
      const target = join(hostDir, "copy");
      const copying = environment.copyFrom({ source: scratch, target, signal: AbortSignal.abort(reason) });
      await assert.rejects(copying, (error) => error === reason);
      await assert.rejects(lstat(target), { code: "ENOENT" });
    },
  },
];
