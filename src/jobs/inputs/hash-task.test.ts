import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeRoot, writeTask } from "../testing/temp-files.ts";
import { hashTask } from "./hash-task.ts";

const never = new AbortController().signal;

function makeTask(): string {
  const dir = join(makeRoot(), "task");
  writeTask(dir, { files: { "environment/data/a.txt": "a", "solution/solve.sh": "s" } });
  return dir;
}

test("R39: equal content has an equal hash, wherever it stands", async () => {
  expect(await hashTask(makeTask(), never)).toEqual(await hashTask(makeTask(), never));
});

test.for([
  ["the text of a file", (dir: string) => writeFileSync(join(dir, "tests/test.sh"), "other")],
  ["a new file", (dir: string) => writeFileSync(join(dir, "environment/data/b.txt"), "")],
  ["the right to run a file", (dir: string) => chmodSync(join(dir, "environment/data/a.txt"), 0o755)],
  ["where a link leads", (dir: string) => symlinkSync("../instruction.md", join(dir, "tests/link"))],
] as const)("R39: %s changes it", async ([, change]) => {
  const dir = makeTask();
  const before = await hashTask(dir, never);
  change(dir);
  expect((await hashTask(dir, never))?.hash).not.toBe(before?.hash);
});

test("R39: what no trial uses does not change it", async () => {
  const dir = makeTask();
  const before = await hashTask(dir, never);
  writeFileSync(join(dir, "README.md"), "about");
  mkdirSync(join(dir, ".git"));
  expect(await hashTask(dir, never)).toEqual(before);
});

test("R39: a folder of very many files is one entry, and still seen when one of them changes", async () => {
  const dir = makeTask();
  for (let n = 0; n < 150; n++) writeFileSync(join(dir, "environment/data", `${n}.txt`), String(n));
  const before = await hashTask(dir, never);
  expect(Object.keys(before?.files ?? {})).toEqual([
    "environment/",
    "instruction.md",
    "solution/solve.sh",
    "task.toml",
    "tests/test.sh",
  ]);
  writeFileSync(join(dir, "environment/data/99.txt"), "x");
  expect((await hashTask(dir, never))?.files["environment/"]).not.toBe(before?.files["environment/"]);
});

test("a directory that is not there has none", async () => {
  expect(await hashTask(join(makeRoot(), "nothing"), never)).toBeNull();
});
