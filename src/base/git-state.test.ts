import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readGitState } from "./git-state.ts";

async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-git-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

test("reads the commit and whether tracked files differ from it", async () => {
  const directory = await makeDirectory();
  const git = (...words: string[]): string => execFileSync("git", words, { cwd: directory, encoding: "utf8" });
  git("init", "-q");
  await writeFile(join(directory, "a.txt"), "one");
  git("add", "a.txt");
  git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first");
  const revision = git("rev-parse", "HEAD").trim();
  await writeFile(join(directory, "untracked.txt"), "new");
  expect(await readGitState(directory, process.env)).toEqual({ revision, isDirty: false });
  await writeFile(join(directory, "a.txt"), "two");
  expect(await readGitState(directory, process.env)).toEqual({ revision, isDirty: true });
});

test("returns null outside a repository and for a missing directory", async () => {
  const directory = await makeDirectory();
  expect(await readGitState(directory, { ...process.env, GIT_CEILING_DIRECTORIES: tmpdir() })).toBeNull();
  expect(await readGitState(join(directory, "missing"), process.env)).toBeNull();
});
