import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { access, readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { fetchGitTrees } from "../../src/jobs/tasks/git/fetch-git-trees.ts";
import type { GitTree } from "../../src/jobs/tasks/git/git-tree.ts";
import { cleanGitCache, listGitCache } from "../../src/jobs/tasks/git/git-cache.ts";
import { startGitServer } from "./git-http-server.ts";
import { makeCacheOptions, makeRepository, makeTempDir, taskFiles } from "./git-repository.ts";

const script = new URL("./fetch-in-process.ts", import.meta.url).pathname;

function startFetch(
  args: string[],
  env: Record<string, string> = {},
): { child: ChildProcess; trees: Promise<GitTree[]> } {
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const trees = (async () => {
    let text = "";
    for await (const chunk of child.stdout) {
      text += String(chunk);
      if (text.includes("\n")) break;
    }
    return JSON.parse(text) as GitTree[];
  })();
  trees.catch(() => {});
  return { child, trees };
}

test("processes that start at once share one fetch and all get whole tasks", async () => {
  const paths = ["a", "b", "c"];
  const { directory, commit } = await makeRepository(Object.assign({}, ...paths.map((path) => taskFiles(path))));
  await using server = await startGitServer(dirname(directory), "modern");
  const cacheDir = await makeTempDir();
  const fetches = Array.from({ length: 4 }, () => startFetch([cacheDir, server.url, commit, ...paths]));
  for (const { trees } of fetches) {
    for (const tree of await trees) {
      if (tree.status !== "ready") throw new Error(tree.message);
      expect(await readFile(join(tree.directory, "instruction.md"), "utf8")).toBe("Say hello.\n");
    }
  }
  // One discovery for the commit and one for its files, however many asked.
  expect(server.requests.filter((request) => request.startsWith("GET")).length).toBe(2);
});

test("the lock of a process that was killed while it fetched is taken over", async () => {
  const { directory, commit } = await makeRepository(taskFiles("a"));
  await using silent = await startGitServer(dirname(directory), "silent");
  const options = await makeCacheOptions();
  const request = silent.nextRequest();
  const { child } = startFetch([options.host.cacheDir, silent.url, commit, "a"]);
  await request;
  const [name] = await readdir(join(options.host.cacheDir, "git"));
  await access(join(options.host.cacheDir, "git", name!, "fetch.lock"));
  child.kill("SIGKILL");
  await once(child, "exit");
  await silent[Symbol.asyncDispose]();
  const [tree] = await fetchGitTrees([{ url: silent.url, commit, path: "a" }], options);
  expect(tree).toMatchObject({ status: "failed", transient: true });
});

test("cleaning leaves alone what a living process uses, and takes it once that process is gone", async () => {
  const { directory, commit } = await makeRepository(taskFiles("tasks/a"));
  const options = await makeCacheOptions();
  const { cacheDir } = options.host;
  const { child, trees } = startFetch([cacheDir, `file://${directory}`, commit, "tasks/a"], { STAY: "1" });
  const [tree] = await trees;
  if (tree?.status !== "ready") throw new Error("not fetched");
  const [cached, ...more] = await listGitCache(cacheDir);
  expect(more).toEqual([]);
  expect(cached).toMatchObject({ url: `file://${directory}`, commit, paths: ["tasks/a"] });
  expect(cached!.bytes).toBeGreaterThan(50);
  expect(await cleanGitCache(cacheDir, options)).toEqual({ bytesFreed: 0, inUse: 1 });
  await access(tree.directory);
  child.kill("SIGKILL");
  await once(child, "exit");
  const hourAgo = { ...options, olderThanMs: 3_600_000 };
  expect(await cleanGitCache(cacheDir, hourAgo)).toEqual({ bytesFreed: 0, inUse: 0 });
  const cleaned = await cleanGitCache(cacheDir, options);
  expect(cleaned.inUse).toBe(0);
  expect(cleaned.bytesFreed).toBeGreaterThan(50);
  expect(await readdir(join(cacheDir, "git"))).toEqual([]);
  expect(await listGitCache(cacheDir)).toEqual([]);
});
