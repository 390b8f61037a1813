import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { formatProblem } from "../../base/problem.ts";
import { loadTask } from "./load-task.ts";

const hello = new URL("./fixtures/tasks/hello", import.meta.url).pathname;
const { signal } = new AbortController();

async function makeTempDir(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-tasks-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

async function makeTask(): Promise<string> {
  const directory = join(await makeTempDir(), "hello");
  await cp(hello, directory, { recursive: true });
  return directory;
}

function load(directory: string, more: { confined?: boolean; displayPath?: string } = {}) {
  return loadTask({ directory, name: "hello", datasetName: "set", gitCommitId: null, signal, ...more });
}

async function problemsOf(
  directory: string,
  more: { confined?: boolean; displayPath?: string } = {},
): Promise<string[]> {
  const task = await load(directory, { displayPath: "set/hello", ...more });
  return (task.status === "broken" ? task.problems : task.warnings).map(formatProblem);
}

describe("a task that can be run", () => {
  test("a whole directory is ready", async () => {
    expect(await load(hello)).toMatchObject({
      status: "ready",
      name: "hello",
      datasetName: "set",
      directory: hello,
      hasSolution: true,
      gitCommitId: null,
      warnings: [],
    });
  });

  test("neither a solution nor an environment is needed", async () => {
    const directory = await makeTask();
    await rm(join(directory, "solution"), { recursive: true });
    await rm(join(directory, "environment"), { recursive: true });
    expect(await load(directory)).toMatchObject({ status: "ready", hasSolution: false });
  });

  test("a directory that is a link is followed, and so are links inside a task of one's own", async () => {
    const directory = await makeTask();
    await rm(join(directory, "instruction.md"));
    await symlink(join(hello, "instruction.md"), join(directory, "instruction.md"));
    await symlink(directory, `${directory}-link`);
    expect(await load(`${directory}-link`)).toMatchObject({ status: "ready", directory: `${directory}-link` });
  });
});

describe("a task that cannot", () => {
  test("a directory that is missing or a file is not found", async () => {
    const directory = await makeTask();
    expect(await load(join(directory, "none"))).toMatchObject({
      status: "broken",
      failureType: "task_not_found",
      message: `${directory}/none does not exist`,
    });
    expect(await load(join(directory, "task.toml"))).toMatchObject({ failureType: "task_not_found" });
  });

  test("everything that is missing or wrong is told at once", async () => {
    const directory = await makeTask();
    await writeFile(join(directory, "task.toml"), "[agent]\ntimeout_sec = -1\nsurprise = 2\n");
    await rm(join(directory, "instruction.md"));
    await rm(join(directory, "tests/test.sh"));
    const task = await load(directory, { displayPath: "set/hello" });
    expect(task).toMatchObject({ status: "broken", failureType: "task_invalid" });
    expect(task.status === "broken" && task.message).toBe(
      "set/hello/task.toml:2:1 agent.timeout_sec: must be more than 0 seconds (and 2 more)",
    );
    expect(await problemsOf(directory)).toEqual([
      "set/hello/task.toml:2:1 agent.timeout_sec: must be more than 0 seconds",
      "set/hello/task.toml:3:1 warning: agent.surprise: unknown key; it is ignored",
      "set/hello/instruction.md does not exist",
      "set/hello/tests/test.sh does not exist",
    ]);
  });

  test.for(["docker-compose.yaml", "compose.yml"])("a task with %s is invalid", async (name) => {
    const directory = await makeTask();
    await writeFile(join(directory, "environment", name), "services: {}\n");
    expect(await problemsOf(directory)).toEqual([
      `set/hello/environment/${name} compose files are not supported: the trial would run without its services`,
    ]);
  });

  test("files that are directories, endless links, binary or huge are told", async () => {
    const directory = await makeTask();
    await rm(join(directory, "instruction.md"));
    await mkdir(join(directory, "instruction.md"));
    await rm(join(directory, "tests/test.sh"));
    await symlink("test.sh", join(directory, "tests/test.sh"));
    await writeFile(join(directory, "task.toml"), Buffer.from([0x61, 0xff, 0xfe]));
    expect(await problemsOf(directory)).toEqual([
      "set/hello/task.toml is not UTF-8 text",
      "set/hello/instruction.md is not a file",
      "set/hello/tests/test.sh is a link that leads to itself",
    ]);
    await writeFile(join(directory, "task.toml"), Buffer.alloc(5 * 2 ** 20, "#"));
    expect((await problemsOf(directory))[0]).toMatch(/task\.toml is larger than/);
    await rm(join(directory, "task.toml"));
    expect((await problemsOf(directory))[0]).toBe("set/hello/task.toml does not exist");
  });

  test("files of somebody else's task must not lead out of it", async () => {
    const directory = await makeTask();
    for (const name of ["task.toml", "instruction.md", "environment", "tests"]) {
      await rm(join(directory, name), { recursive: true });
      await symlink(join(hello, name), join(directory, name));
    }
    expect(await problemsOf(directory)).toEqual([]);
    expect(await problemsOf(directory, { confined: true })).toEqual([
      "set/hello/task.toml is a link that leads out of the task",
      "set/hello/instruction.md is a link that leads out of the task",
      "set/hello/tests/test.sh is a link that leads out of the task",
      "set/hello/environment is a link that leads out of the task",
    ]);
  });
});

test("an aborted signal ends loading with its reason", async () => {
  const aborted = AbortSignal.abort(new Error("enough"));
  const loading = loadTask({ directory: hello, name: "x", datasetName: "y", gitCommitId: null, signal: aborted });
  await expect(loading).rejects.toThrow("enough");
});
