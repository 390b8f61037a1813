import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { silentLog } from "../../base/log.ts";
import type { DatasetRef } from "../config/job.ts";
import { loadDataset, loadDatasets, type LoadDatasetsOptions } from "./load-datasets.ts";

const hello = new URL("./fixtures/tasks/hello", import.meta.url).pathname;

async function makeTempDir(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-tasks-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function makeDataset(names: readonly string[]): Promise<string> {
  const directory = join(await makeTempDir(), "set");
  await mkdir(directory);
  for (const name of names) await cp(hello, join(directory, name), { recursive: true });
  return directory;
}

async function makeOptions(env: Record<string, string> = {}): Promise<LoadDatasetsOptions> {
  const host = readHost(process);
  const cacheDir = await makeTempDir();
  return {
    host: { ...host, cacheDir, env: { ...host.env, ...env } },
    clock: systemClock,
    signal: new AbortController().signal,
    log: silentLog,
  };
}

function pathRef(path: string): DatasetRef {
  return { kind: "path", path, name: basename(path), nConcurrent: null };
}

function git(directory: string, ...args: string[]): string {
  const identity = ["-c", "user.name=Test", "-c", "user.email=test@example.com"];
  return execFileSync("git", [...identity, ...args], { cwd: directory, encoding: "utf8" }).trim();
}

describe("a directory of tasks", () => {
  test("its tasks come by name, broken ones among them, and other directories are no tasks", async () => {
    const path = await makeDataset(["b", "a", "B-10"]);
    await mkdir(join(path, "docs"));
    await writeFile(join(path, "README.md"), "");
    await mkdir(join(path, "c"));
    await writeFile(join(path, "c/task.toml"), "= broken");
    await symlink(join(path, "a"), join(path, "link"));
    const dataset = await loadDataset({ ...pathRef(path), name: "set", nConcurrent: 2 }, await makeOptions());
    expect(dataset).toMatchObject({ name: "set", version: null, source: path, pins: [], nConcurrent: 2 });
    expect(dataset.tasks.map((task) => `${task.name} ${task.status}`)).toEqual([
      "B-10 ready",
      "a ready",
      "b ready",
      "c broken",
      "link ready",
    ]);
    expect(dataset.tasks[0]).toMatchObject({ datasetName: "set", gitCommitId: null });
  });

  test("one that is missing, a file, empty, a task itself or one level too high is told with what to do", async () => {
    const options = await makeOptions();
    const path = await makeDataset(["deep"]);
    const failure = (at: string) => loadDataset(pathRef(at), options).catch((error: unknown) => error);
    expect(await failure(`${path}-none`)).toMatchObject({
      code: "config_invalid",
      message: `the dataset ${path}-none does not exist`,
    });
    expect(await failure(join(path, "deep/task.toml"))).toMatchObject({ code: "config_invalid" });
    expect(await failure(join(path, "deep"))).toMatchObject({
      code: "config_invalid",
      hint: expect.stringContaining("itself a task"),
    });
    expect(await failure(join(path, "deep/tests"))).toMatchObject({
      hint: expect.stringContaining("directory with a task.toml"),
    });
    const above = await makeTempDir();
    await cp(path, join(above, "tasks"), { recursive: true });
    expect(await failure(above)).toMatchObject({ hint: `there are tasks one level deeper: use ${above}/tasks` });
  });

  test("thousands of tasks load", async () => {
    const path = await makeDataset([]);
    const names = Array.from({ length: 3_000 }, (_, index) => `task-${String(index).padStart(4, "0")}`);
    for (const name of names) await symlink(hello, join(path, name));
    const { tasks } = await loadDataset(pathRef(path), await makeOptions());
    expect(tasks.map((task) => task.name)).toEqual(names);
  });
});

describe("the commit of a local task", () => {
  test("it is HEAD of the repository that holds the task, also in a worktree and behind a link", async () => {
    const path = await makeDataset(["a", "b"]);
    git(path, "init", "--quiet");
    const options = await makeOptions();
    const commitsOf = async (at: string) =>
      (await loadDataset(pathRef(at), options)).tasks.map((task) => task.gitCommitId);
    expect(await commitsOf(path)).toEqual([null, null]);
    git(path, "add", ".");
    git(path, "commit", "--quiet", "--message", "x");
    const commit = git(path, "rev-parse", "HEAD");
    expect(await commitsOf(path)).toEqual([commit, commit]);
    git(path, "worktree", "add", "--quiet", `${path}-worktree`);
    expect(await commitsOf(`${path}-worktree`)).toEqual([commit, commit]);
    const links = await makeDataset([]);
    await symlink(join(path, "a"), join(links, "a"));
    expect(await commitsOf(links)).toEqual([commit]);
  });

  test("it is null without git", async () => {
    const path = await makeDataset(["a"]);
    git(path, "init", "--quiet");
    const dataset = await loadDataset(pathRef(path), await makeOptions({ PATH: "/nowhere" }));
    expect(dataset.tasks[0]).toMatchObject({ status: "ready", gitCommitId: null });
  });
});

describe("tasks given one by one", () => {
  const tasksRef = (...paths: string[]): DatasetRef => ({ kind: "tasks", paths, name: "tasks", nConcurrent: null });

  test("they come in the order given", async () => {
    const path = await makeDataset(["b", "a"]);
    const dataset = await loadDataset(tasksRef(join(path, "b"), join(path, "a")), await makeOptions());
    expect(dataset.tasks.map((task) => `${task.datasetName}/${task.name}`)).toEqual(["tasks/b", "tasks/a"]);
  });

  test("a missing one, one without task.toml and two of a name are configuration errors", async () => {
    const options = await makeOptions();
    const path = await makeDataset(["a"]);
    const other = await makeDataset(["a"]);
    const failure = (...paths: string[]) => loadDataset(tasksRef(...paths), options).catch((error: unknown) => error);
    expect(await failure(join(path, "none"))).toMatchObject({ code: "config_invalid" });
    expect(await failure(path)).toMatchObject({
      code: "config_invalid",
      hint: expect.stringContaining("is a dataset"),
    });
    expect(await failure(join(path, "a"), join(other, "a"))).toMatchObject({
      code: "config_invalid",
      message: `two tasks are called "a": ${path}/a and ${other}/a`,
    });
  });
});

describe("registries", () => {
  test("datasets of a registry are loaded from their repositories, with what was pinned", async () => {
    const repository = await makeDataset(["a", "b"]);
    git(repository, "init", "--quiet");
    git(repository, "add", ".");
    git(repository, "commit", "--quiet", "--message", "x");
    const commit = git(repository, "rev-parse", "HEAD");
    const url = `file://${repository}`;
    const tasks = [
      { name: "first", git_url: url, git_commit_id: commit, path: "a" },
      { name: "second", git_url: url, path: "b" },
      { name: "third", git_url: url, git_commit_id: commit, path: "none" },
      { name: "fourth", git_url: url, git_commit_id: commit, path: "a/tests" },
      { name: "fifth", git_url: "ext::sh", path: "a" },
    ];
    const directory = await makeDataset([]);
    await writeFile(
      join(directory, "registry.json"),
      JSON.stringify([{ name: "set", version: "1.0", description: "x", tasks }]),
    );
    const lines: string[] = [];
    const options = { ...(await makeOptions()), onProgress: (line: string) => lines.push(line) };
    const registry: DatasetRef = {
      kind: "registry",
      registry: { path: directory },
      name: "set",
      version: null,
      nConcurrent: null,
    };
    const local = pathRef(await makeDataset(["z"]));
    const [set, , again] = await loadDatasets([registry, local, registry], options);
    expect(again).toEqual(set);
    expect(lines).toEqual([`fetching 4 tasks of ${url} at ${commit.slice(0, 8)}`]);
    expect(set).toMatchObject({
      name: "set",
      version: "1.0",
      source: `set@1.0 of ${directory}`,
      pins: [{ url, commit }],
    });
    const states = set?.tasks.map(
      (task) => `${task.name} ${task.status === "broken" ? task.failureType : task.gitCommitId}`,
    );
    expect(states).toEqual([
      `first ${commit}`,
      `second ${commit}`,
      "third task_not_found",
      "fourth task_invalid",
      "fifth task_invalid",
    ]);
    expect(set?.tasks[3]).toMatchObject({
      message: expect.stringContaining(`${url}@${commit.slice(0, 8)}:a/tests/task.toml does not exist`),
    });
  });

  test("an empty dataset and one with two tasks of a name are configuration errors", async () => {
    const directory = await makeDataset([]);
    const task = { name: "a", git_url: "https://example.com/x.git", path: "a" };
    const entries = [
      { name: "empty", version: "1", tasks: [] },
      { name: "twice", version: "1", tasks: [task, task] },
    ];
    await writeFile(join(directory, "registry.json"), JSON.stringify({ datasets: entries }));
    for (const name of ["empty", "twice"]) {
      const ref: DatasetRef = {
        kind: "registry",
        registry: { path: directory },
        name,
        version: "1",
        nConcurrent: null,
      };
      await expect(loadDataset(ref, await makeOptions())).rejects.toMatchObject({ code: "config_invalid" });
    }
  });
});
