import { randomBytes } from "node:crypto";
import { access, chmod, lstat, mkdir, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../../src/base/testing/fake-clock.ts";
import { fetchGitTrees } from "../../src/jobs/tasks/git/fetch-git-trees.ts";
import type { GitTree } from "../../src/jobs/tasks/git/git-tree.ts";
import { startGitServer, type GitServerKind } from "./git-http-server.ts";
import { commitFiles, git, makeCacheOptions, makeRepository, makeTempDir, taskFiles } from "./git-repository.ts";

function readyOf(tree: GitTree | undefined): GitTree & { status: "ready" } {
  if (tree?.status !== "ready") throw new Error(`not ready: ${JSON.stringify(tree)}`);
  return tree;
}

function failedOf(tree: GitTree | undefined): GitTree & { status: "failed" } {
  if (tree?.status !== "failed") throw new Error(`not failed: ${JSON.stringify(tree)}`);
  return tree;
}

// Random, so that it cannot be compressed away.
const unwanted = randomBytes(200_000).toString("base64");
const twoTasks = { ...taskFiles("tasks/a"), ...taskFiles("tasks/b"), "big/other.bin": unwanted };

async function repositoryDirectory(cacheDir: string): Promise<string> {
  const [name, ...more] = await readdir(join(cacheDir, "git"));
  expect(more).toEqual([]);
  return join(cacheDir, "git", name!);
}

describe("servers", () => {
  const kinds: GitServerKind[] = ["modern", "old", "dumb"];
  for (const kind of kinds) {
    test(`tasks of an old and a new commit come from a ${kind} server`, async () => {
      const { directory, commit: first } = await makeRepository(twoTasks);
      const second = await commitFiles(directory, { "tasks/a/instruction.md": "Say goodbye.\n" });
      await git(directory, "update-server-info");
      await using server = await startGitServer(dirname(directory), kind);
      const options = await makeCacheOptions();
      const trees = await fetchGitTrees(
        [
          { url: server.url, commit: first, path: "tasks/a" },
          { url: server.url, commit: first, path: "tasks/b" },
          { url: server.url, commit: second, path: "tasks/a" },
          { url: server.url, commit: null, path: "./tasks//b/" },
        ],
        options,
      );
      expect(trees.map((tree) => tree.commit)).toEqual([first, first, second, second]);
      expect(await readFile(join(readyOf(trees[0]).directory, "instruction.md"), "utf8")).toBe("Say hello.\n");
      expect(await readFile(join(readyOf(trees[2]).directory, "instruction.md"), "utf8")).toBe("Say goodbye.\n");
      expect(await readdir(readyOf(trees[3]).directory)).toEqual([
        "environment",
        "instruction.md",
        "task.toml",
        "tests",
      ]);
      const names = await readdir(await repositoryDirectory(options.host.cacheDir));
      expect(names.includes("whole.git")).toBe(kind !== "modern");
      expect(names.filter((name) => /tmp-|lock|old$/.test(name))).toEqual([]);
    });
  }

  test("a server that leaves blobs out and then gives nothing but the tips of branches is asked for everything", async () => {
    const { directory, commit: first } = await makeRepository(twoTasks);
    const second = await commitFiles(directory, { "tasks/a/instruction.md": "Say goodbye.\n" });
    await git(directory, "config", "uploadpack.allowFilter", "true");
    await git(directory, "config", "uploadpack.allowTipSHA1InWant", "true");
    const home = await makeTempDir();
    // Only the first protocol knows such limits.
    await writeFile(join(home, ".gitconfig"), "[protocol]\n\tversion = 0\n");
    for (const [commit, text] of [
      [second, "Say goodbye.\n"],
      [first, "Say hello.\n"],
    ] as const) {
      const options = await makeCacheOptions({ env: { HOME: home } });
      const trees = await fetchGitTrees(
        [commit, "1234567890".repeat(4)].map((id) => ({ url: `file://${directory}`, commit: id, path: "tasks/a" })),
        options,
      );
      expect(await readFile(join(readyOf(trees[0]).directory, "instruction.md"), "utf8")).toBe(text);
      expect(failedOf(trees[1]).transient).toBe(false);
      expect(await readdir(await repositoryDirectory(options.host.cacheDir))).toContain("whole.git");
    }
  });

  test("a server that filters sends many tasks of two commits in one fetch of commits and one of files each", async () => {
    const { directory, commit: first } = await makeRepository(twoTasks);
    const second = await commitFiles(directory, { "tasks/a/instruction.md": "Say goodbye.\n" });
    await using server = await startGitServer(dirname(directory), "modern");
    const requests = ["tasks/a", "tasks/b"].flatMap((path) =>
      [first, second].map((commit) => ({ url: server.url, commit, path })),
    );
    const options = await makeCacheOptions();
    const trees = await fetchGitTrees(requests, options);
    trees.map(readyOf);
    const posts = server.requests.filter((request) => request.startsWith("POST"));
    expect(posts.length).toBeLessThanOrEqual(6);
    const gitDir = join(await repositoryDirectory(options.host.cacheDir), "partial.git");
    const objects = await git(gitDir, "count-objects", "-v");
    expect(Number(/size-pack: (\d+)/.exec(objects)?.[1])).toBeLessThan(20);
  });

  test("what is pinned and was fetched once needs neither the network nor git", async () => {
    const { directory, commit } = await makeRepository(twoTasks);
    const server = await startGitServer(dirname(directory), "modern");
    const options = await makeCacheOptions();
    const requests = [{ url: server.url, commit, path: "tasks/a" }];
    await fetchGitTrees(requests, options);
    await server[Symbol.asyncDispose]();
    const offline = { ...options, host: { ...options.host, env: { PATH: "/nowhere" } } };
    readyOf((await fetchGitTrees(requests, offline))[0]);
  });

  test("a second path of a fetched commit is added beside the first", async () => {
    const { directory, commit } = await makeRepository(twoTasks);
    await using server = await startGitServer(dirname(directory), "modern");
    const options = await makeCacheOptions();
    await fetchGitTrees([{ url: server.url, commit, path: "tasks/a" }], options);
    const [a, b] = await fetchGitTrees(
      ["tasks/a", "tasks/b"].map((path) => ({ url: server.url, commit, path })),
      options,
    );
    expect(dirname(readyOf(a).directory)).toBe(dirname(readyOf(b).directory));
  });

  test("a file URL works, also for the root of a repository and for a path inside another one", async () => {
    const { directory, commit } = await makeRepository({
      ...taskFiles("."),
      ...taskFiles("x"),
      ...taskFiles("x/y"),
      "x/run.sh": "",
      "x/link": "->task.toml",
    });
    const url = `file://${directory}`;
    const trees = await fetchGitTrees(
      [".", "x/y", "x"].map((path) => ({ url, commit, path })),
      await makeCacheOptions(),
    );
    for (const tree of trees) await access(join(readyOf(tree).directory, "task.toml"));
    await access(join(readyOf(trees[0]).directory, "x/y/task.toml"));
    await access(join(readyOf(trees[2]).directory, "y/task.toml"));
    expect((await stat(join(readyOf(trees[2]).directory, "run.sh"))).mode & 0o111).not.toBe(0);
    expect(await readlink(join(readyOf(trees[2]).directory, "link"))).toBe("task.toml");
  });

  test("an unpinned repository that cannot be reached is told apart from its siblings and from a missing one", async () => {
    const { directory, commit } = await makeRepository(twoTasks);
    const trees = await fetchGitTrees(
      [
        { url: "http://127.0.0.1:9/repo.git", commit: null, path: "tasks/a" },
        { url: "http://127.0.0.1:9/repo.git", commit, path: "tasks/a" },
        { url: `file://${directory}-gone`, commit, path: "tasks/a" },
        { url: `file://${directory}`, commit, path: "tasks/a" },
      ],
      await makeCacheOptions(),
    );
    expect(failedOf(trees[0])).toMatchObject({ failureType: "task_not_found", transient: true });
    expect(failedOf(trees[0]).message).toMatch(/newest commit of http:\/\/127\.0\.0\.1:9\/repo\.git .*pin the task/s);
    expect(failedOf(trees[1])).toMatchObject({ failureType: "task_not_found", transient: true, commit });
    expect(failedOf(trees[2])).toMatchObject({ failureType: "task_not_found", transient: false });
    readyOf(trees[3]);
  });

  test("a server that wants credentials is never answered with a prompt, and its URL's credentials are never shown", async () => {
    const { directory, commit } = await makeRepository(twoTasks);
    await using server = await startGitServer(dirname(directory), "locked");
    const options = await makeCacheOptions({ env: { SSH_ASKPASS: "/bin/false", GIT_ASKPASS: "/bin/false" } });
    const [tree] = await fetchGitTrees([{ url: server.url, commit, path: "tasks/a" }], options);
    expect(failedOf(tree)).toMatchObject({ transient: false });
    expect(failedOf(tree).message).toMatch(/terminal prompts disabled/);
    const withToken = server.url.replace("http://", "http://user:hunter2-secret@");
    const trees = await fetchGitTrees(
      [
        { url: withToken, commit, path: "tasks/a" },
        { url: withToken, commit, path: "tasks/none" },
      ],
      options,
    );
    readyOf(trees[0]);
    expect(JSON.stringify(trees) + options.lines.join()).not.toContain("hunter2");
    const root = join(options.host.cacheDir, "git");
    for (const file of await readdir(root, { recursive: true, withFileTypes: true })) {
      if (file.isFile()) expect(await readFile(join(file.parentPath, file.name), "latin1")).not.toContain("hunter2");
    }
  });

  test("a server that has a bad day is transient, an unknown commit is not", async () => {
    const { directory, commit } = await makeRepository(twoTasks);
    await using failing = await startGitServer(dirname(directory), "failing");
    await using modern = await startGitServer(dirname(directory), "modern");
    await using old = await startGitServer(dirname(directory), "old");
    const unknown = "1234567890".repeat(4);
    const trees = await fetchGitTrees(
      [
        { url: failing.url, commit, path: "tasks/a" },
        { url: modern.url, commit: unknown, path: "tasks/a" },
        { url: old.url, commit: unknown, path: "tasks/a" },
        { url: modern.url, commit, path: "tasks/a" },
      ],
      await makeCacheOptions(),
    );
    expect(failedOf(trees[0])).toMatchObject({ transient: true });
    expect(failedOf(trees[1])).toMatchObject({ transient: false, failureType: "task_not_found" });
    expect(failedOf(trees[2])).toMatchObject({ transient: false, failureType: "task_not_found" });
    expect(failedOf(trees[2]).message).toContain(unknown);
    readyOf(trees[3]);
  });

  test("a server that falls silent is given up after the limit", async () => {
    await using server = await startGitServer(await makeTempDir(), "silent");
    const clock = new FakeClock();
    const options = await makeCacheOptions({ clock, stallMs: 60_000 });
    const request = server.nextRequest();
    const fetching = fetchGitTrees([{ url: server.url, commit: "ab".repeat(20), path: "a" }], options);
    await request;
    await clock.advance(60_000);
    expect(failedOf((await fetching)[0])).toMatchObject({ transient: true });
    expect(clock.pendingTimers).toBe(0);
  });

  test("aborting ends git and rejects with the reason", async () => {
    await using server = await startGitServer(await makeTempDir(), "silent");
    const controller = new AbortController();
    const options = await makeCacheOptions({ signal: controller.signal });
    const request = server.nextRequest();
    const fetching = fetchGitTrees([{ url: server.url, commit: null, path: "a" }], options);
    await request;
    const reason = new Error("enough");
    controller.abort(reason);
    await expect(fetching).rejects.toBe(reason);
  });

  test("a missing git is one error with its remedy", async () => {
    const options = await makeCacheOptions({ env: { PATH: "/nowhere" } });
    const fetching = fetchGitTrees([{ url: "https://example.com/x.git", commit: null, path: "a" }], options);
    await expect(fetching).rejects.toMatchObject({ code: "git_failed", hint: expect.stringContaining("install git") });
  });
});

describe("hostile repositories", () => {
  test("addresses that could run programs and paths that leave the clone are refused before git sees them", async () => {
    const commit = "ab".repeat(20);
    const good = "https://example.com/x.git";
    const requests = [
      { url: "ext::sh -c touch% /tmp/x", commit, path: "a" },
      { url: "--upload-pack=touch", commit, path: "a" },
      { url: "ssh://-oProxyCommand=touch/x", commit, path: "a" },
      { url: "ftp://example.com/x.git", commit, path: "a" },
      { url: "/srv/repo", commit, path: "a" },
      { url: good, commit, path: "../../etc" },
      { url: good, commit, path: "/etc" },
      { url: good, commit, path: "a/../../b" },
      { url: good, commit, path: ".git/hooks" },
      { url: good, commit: "69671fb", path: "a" },
      { url: good, commit: "main", path: "a" },
      { url: good, commit: "--output=x", path: "a" },
    ];
    const trees = await fetchGitTrees(requests, await makeCacheOptions({ env: { PATH: "/nowhere" } }));
    for (const tree of trees) expect(failedOf(tree).failureType).toBe("task_invalid");
    expect(failedOf(trees[9]).message).toMatch(/abbreviated.*40 characters/);
  });

  test("a path that is missing, a file, a link, behind a link or a submodule is refused and its sibling is not", async () => {
    const { directory } = await makeRepository({ ...twoTasks, "to-etc": "->/etc", "to-a": "->tasks/a" });
    const inner = await makeRepository(taskFiles("z"));
    await git(
      directory,
      "-c",
      "protocol.file.allow=always",
      "submodule",
      "add",
      "--quiet",
      `file://${inner.directory}`,
      "sub/module",
    );
    const commit = await commitFiles(directory, {});
    const paths = [
      "tasks/none",
      "tasks/a/task.toml",
      "to-etc",
      "to-a",
      "to-etc/ssh",
      "to-a/tests",
      "sub/module",
      "sub/module/z",
      "sub",
      "tasks/*",
      "tasks/a",
    ];
    const trees = await fetchGitTrees(
      paths.map((path) => ({ url: `file://${directory}`, commit, path })),
      await makeCacheOptions(),
    );
    expect(trees.map((tree) => (tree.status === "failed" ? tree.failureType : tree.status))).toEqual([
      "task_not_found",
      "task_invalid",
      "task_invalid",
      "task_invalid",
      "task_not_found",
      "task_not_found",
      "task_invalid",
      "task_not_found",
      "task_invalid",
      "task_not_found",
      "ready",
    ]);
    expect(failedOf(trees[0]).message).toContain("tasks/none does not exist");
    expect(failedOf(trees[2]).message).toContain("symbolic link");
    expect(failedOf(trees[8]).message).toContain("submodule sub/module");
  });

  test("hooks and filters of the user never run, and files kept in Git LFS are refused rather than run as pointers", async () => {
    const home = await makeTempDir();
    const marker = join(home, "marker");
    await mkdir(join(home, "hooks"));
    await writeFile(join(home, "hooks/post-checkout"), `#!/bin/sh\ntouch ${marker}\n`);
    await chmod(join(home, "hooks/post-checkout"), 0o755);
    await writeFile(
      join(home, ".gitconfig"),
      `[core]\n\thooksPath = ${home}/hooks\n\tautocrlf = true\n[filter "lfs"]\n\tsmudge = touch ${marker}\n\trequired = true\n`,
    );
    const { directory, commit } = await makeRepository({
      ...taskFiles("lfs"),
      ".gitattributes": "lfs/*.bin filter=lfs\n*.txt eol=crlf\n",
      "lfs/data.bin": "version https://git-lfs.github.com/spec/v1\n",
      ...taskFiles("plain"),
      "plain/dos.txt": "a\n",
    });
    const options = await makeCacheOptions({ env: { HOME: home } });
    const [lfs, plain] = await fetchGitTrees(
      ["lfs", "plain"].map((path) => ({ url: `file://${directory}`, commit, path })),
      options,
    );
    expect(failedOf(lfs).message).toContain("lfs/data.bin in Git LFS");
    expect(await readFile(join(readyOf(plain).directory, "instruction.md"), "utf8")).toBe("Say hello.\n");
    expect(await readFile(join(readyOf(plain).directory, "dos.txt"), "utf8")).toBe("a\r\n");
    await expect(lstat(marker)).rejects.toThrow("ENOENT");
  });

  test("a git that called us does not lend us its repository", async () => {
    const other = await makeRepository({ file: "x" });
    const { directory, commit } = await makeRepository(twoTasks);
    const options = await makeCacheOptions({
      env: { GIT_DIR: join(other.directory, ".git"), GIT_INDEX_FILE: "/nowhere", GIT_CONFIG_COUNT: "junk" },
    });
    readyOf((await fetchGitTrees([{ url: `file://${directory}`, commit, path: "tasks/a" }], options))[0]);
    await rm(other.directory, { recursive: true });
  });

  test("a redirect of git to another scheme is not followed", async () => {
    const server = createServer((_, response) => response.writeHead(302, { location: "file:///etc/passwd" }).end());
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/x.git`;
    const [tree] = await fetchGitTrees([{ url, commit: null, path: "a" }], await makeCacheOptions());
    failedOf(tree);
    server.closeAllConnections();
    server.close();
  });
});
