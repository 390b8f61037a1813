import { existsSync } from "node:fs";
import { cp, mkdir, symlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { agentOf, makeJobRoom, makeRoom, type Room, root } from "./rollout-cli.ts";

const commands = ["run", "plan", "validate", "list", "show", "export", "remove", "logs", "init", "cache"];

describe("help", () => {
  test("of the program names every command and has examples", async () => {
    const { code, stdout, stderr } = await (await makeRoom()).run(["--help"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const name of commands) expect(stdout).toMatch(new RegExp(`^  ${name} `, "m"));
    expect(stdout).toMatch(/\nExamples:\n {2}rollout \S+/);
  });

  for (const name of commands) {
    test(`of ${name} has examples that begin with it`, async () => {
      const { code, stdout, stderr } = await (await makeRoom()).run([name, "--help"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain(`Usage: rollout ${name}`);
      expect(stdout).toMatch(new RegExp(`\nExamples:\n  rollout ${name}[ \\n]`));
    });
  }

  test("is printed on stderr with 2 when nothing is asked for", async () => {
    const { code, stdout, stderr } = await (await makeRoom()).run([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Usage: rollout <job.yaml>");
  });

  test("help NAME is NAME --help", async () => {
    const room = await makeRoom();
    expect(await room.run(["help", "plan"])).toEqual(await room.run(["plan", "--help"]));
  });
});

describe("the version", () => {
  test.for(["--version", "-V"])("%s is that of the package", async (option) => {
    const room = await makeRoom();
    const { version } = (await import(join(root, "package.json"), { with: { type: "json" } })).default as {
      version: string;
    };
    expect(await room.run([option])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: "" });
    expect(await room.run([option, "run"])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });
});

describe("a mistyped word ends with 2 and the word that was meant:", () => {
  const slips: readonly (readonly [readonly string[], string])[] = [
    [["valdate", "job.yaml"], "validate"],
    [["rnu", "job.yaml"], "run"],
    [["shwo", "jobs/job"], "show"],
    [["--jsno", "job.yaml"], "--json"],
    [["run", "job.yaml", "--attemps", "3"], "--attempts"],
    [["plan", "job.yaml", "--exlude", "a"], "--exclude"],
    [["init", "taks", "x"], "task"],
    [["cache", "lst"], "list"],
  ];
  for (const [args, meant] of slips) {
    test(`rollout ${args.join(" ")}`, async () => {
      const room = await makeJobRoom();
      const { code, stdout, stderr } = await room.run(args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(`Did you mean ${meant}?`);
      expect(stderr).toContain("--help");
      expect(await room.files("jobs")).toEqual([]);
    });
  }
});

describe("options that cannot be meant end with 2 and say why:", () => {
  const slips: readonly (readonly [readonly string[], string])[] = [
    [["--attempts", "0"], "option '--attempts <n>' argument '0' is invalid. It takes a whole number"],
    [["--concurrency", "many"], "option '--concurrency <n>' argument 'many' is invalid"],
    [["--limit", "1.5"], "option '--limit <n>' argument '1.5' is invalid"],
    [["--set", "n_attempts"], "expected key=value"],
    [["--set", "n_atempts=2"], 'did you mean "n_attempts"'],
    [["--set", "agents[0].nmae=x"], 'did you mean "name"'],
    [["--environment", "dcoker"], 'unknown environment type "dcoker"'],
    [["--agent", "nobody"], "nobody"],
    [["--task", "alhpa"], 'did you mean "alpha"'],
    [["--task-tag", "none"], "none"],
    [["--category", "none"], "none"],
    [["--exclude", "*"], "no task is left"],
    [["--name", ".hidden"], "--name .hidden"],
    [["more.yaml"], "one job file at a time"],
  ];
  for (const [options, says] of slips) {
    test(options.join(" "), async () => {
      const room = await makeJobRoom();
      await room.writeJob({}, "more.yaml");
      const { code, stdout, stderr } = await room.run(["job.yaml", ...options]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(says);
      expect(stderr).not.toContain("    at ");
      expect(await room.files("jobs")).toEqual([]);
    });
  }
});

test("a checkout's own launcher becomes the command, wherever it is called from and through links", async () => {
  const room = await makeJobRoom();
  const launcher = await makeLauncher(room);
  const direct = await room.run(["job.yaml", "--json"], { command: [launcher] });
  expect(direct).toMatchObject({ code: 0 });
  expect(JSON.parse(direct.stdout)).toMatchObject({ job_dir: room.path("jobs/job") });
  await symlink("checkout/bin/rollout", room.path("linked"));
  await symlink(room.path("linked"), room.path("linked again"));
  for (const link of ["linked", "linked again"]) {
    expect(await room.run(["plan"], { command: [room.path(link)] })).toMatchObject({ code: 2 });
    expect(await room.run(["--version"], { command: [room.path(link)] })).toEqual(await room.run(["--version"]));
  }
});

test("a launcher's signals and exit codes are the command's", async () => {
  const room = await makeJobRoom();
  await room.writeJob(agentOf(`tell ${room.path("begun")}\nwait`));
  const running = room.start(["job.yaml"], { command: [await makeLauncher(room)] });
  await running.until("the agent has begun", () => existsSync(room.path("begun")));
  expect(await room.read("begun")).toBe(String(running.pid));
  running.kill("SIGTERM");
  expect(await running.ended).toMatchObject({ code: 143 });
});

// A checkout that is older than its build, because a launcher that finds it changed builds anew and disturbs other tests.
async function makeLauncher(room: Room): Promise<string> {
  for (const dir of ["bin", "src"]) await mkdir(room.path("checkout", dir), { recursive: true });
  for (const file of ["bin/rollout", "package.json", "package-lock.json"])
    await cp(join(root, file), room.path("checkout", file));
  for (const path of ["src", "package.json", "package-lock.json"]) await utimes(room.path("checkout", path), 0, 0);
  for (const dir of ["dist", ".runtime"]) await symlink(join(root, dir), room.path("checkout", dir));
  return room.path("checkout/bin/rollout");
}
