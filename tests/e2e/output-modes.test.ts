import { existsSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import type { RunEvent } from "../../src/store/run.ts";
import { agentOf, command, makeJobRoom, onTerminal, type Room } from "./rollout-cli.ts";

const escape = "\u001b";
/** Anything that moves a cursor, clears a line or hides something. */
const redraw = new RegExp(`${escape}\\[[0-9;?]*[A-HJKSTfhl]`);
const colour = new RegExp(`${escape}\\[[0-9;]*m`);

let room: Room;
beforeEach(async () => {
  room = await makeJobRoom({ agents: [{ name: "agent", execute: "echo hello" }, { name: "nop" }] }, ["a", "b"]);
});

describe("what goes where", () => {
  test("a person gets the summary on stdout and how it goes on stderr", async () => {
    const { code, stdout, stderr } = await room.run(["job.yaml"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^job · completed/);
    expect(stdout).toContain("rollout show jobs/job");
    expect(stderr).toMatch(/^job: 4 trials/);
    expect(stderr).toContain("[1/4] pass ");
    expect(stdout).not.toContain("[1/4]");
  });

  test("--json puts exactly one object on stdout and everything else on stderr", async () => {
    const { code, stdout, stderr } = await room.run(["job.yaml", "--json"]);
    expect(code).toBe(0);
    expect(stdout.endsWith("}\n")).toBe(true);
    expect(JSON.parse(stdout)).toMatchObject({
      schema_version: 1,
      job_dir: room.path("jobs/job"),
      exit_code: 0,
      result: await room.readJson("jobs/job/result.json"),
    });
    expect(stderr).toContain("[1/4] pass ");
  });

  test("--json before the job file does not take it for its value", async () => {
    const { code, stdout } = await room.run(["--json", "job.yaml"]);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ result: { total_trials: 4 } });
  });

  test("--json of a job that cannot start leaves stdout empty", async () => {
    expect(await room.run(["--json", "nothing.yaml"])).toMatchObject({ code: 2, stdout: "" });
  });

  test.for([
    ["job.yaml", "--json=events"],
    ["--json=events", "job.yaml"],
    ["run", "--json=events", "job.yaml"],
  ])("%s writes one event on every line, from the first to the last of the run", async (args) => {
    const { code, stdout } = await room.run(args);
    expect(code).toBe(0);
    const events = stdout
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as RunEvent);
    expect(events[0]).toMatchObject({
      schema_version: 1,
      type: "run_started",
      run: { name: "job", plan: { total: 4 } },
    });
    expect(events.at(-1)).toMatchObject({
      type: "run_finished",
      run: { status: "completed" },
      next: ["rollout show jobs/job"],
    });
    expect(events.filter((event) => event.type === "unit_finished")).toHaveLength(4);
    expect(events.filter((event) => event.type === "run_started" || event.type === "run_finished")).toHaveLength(2);
  });

  test("--quiet says nothing about a job that went well", async () => {
    expect(await room.run(["job.yaml", "--quiet"])).toMatchObject({ code: 0, stdout: "", stderr: "" });
    expect(existsSync(room.path("jobs/job/result.json"))).toBe(true);
  });

  test("--quiet says in a line what went wrong", async () => {
    await room.writeTask("tasks/c", { test: "exit 1" });
    const { code, stdout, stderr } = await room.run(["-q", "job.yaml"]);
    expect({ code, stdout }).toEqual({ code: 3, stdout: "" });
    expect(stderr).toMatch(/2 of 6 trials have no reward; see .*jobs\/job\n$/);
  });

  test("--quiet --json gives the object and nothing else", async () => {
    const { stdout, stderr } = await room.run(["-q", "--json", "job.yaml"]);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toMatchObject({ exit_code: 0 });
  });
});

describe("into a pipe", () => {
  test("nothing is coloured or drawn over, also if a terminal is claimed", async () => {
    const { stdout, stderr } = await room.run(["job.yaml"], { env: { TERM: "xterm-256color" } });
    expect(stdout + stderr).not.toContain(escape);
  });

  test("colour comes when it is asked for, and NO_COLOR wins", async () => {
    const { stdout } = await room.run(["job.yaml"], { env: { FORCE_COLOR: "1" } });
    expect(stdout).toMatch(colour);
    expect(stdout).not.toMatch(redraw);
    const plain = await room.run(["show", "jobs/job"], { env: { FORCE_COLOR: "1", NO_COLOR: "1" } });
    expect(plain.stdout).not.toContain(escape);
  });

  test("only ASCII is written where the locale has no more", async () => {
    const { stdout, stderr } = await room.run(["job.yaml"], { env: { LANG: "C" } });
    expect(stdout + stderr).toMatch(/^[\n -~]*$/);
  });

  test("a reader that goes away does not cost the job anything", async () => {
    const shell = ["sh", "-c", '"$@" 2>/dev/null | head -n 1', "sh", ...command];
    const { stdout } = await room.run(["job.yaml", "--json=events"], { command: shell });
    expect(JSON.parse(stdout)).toMatchObject({ type: "run_started" });
    const result = await room.readJson("jobs/job/result.json");
    expect(result).toMatchObject({ completed_trials: 4, cancelled: false, ended_at: expect.any(String) });
  });

  test("readers of both streams that go away leave the exit code as it is", async () => {
    await room.writeTask("tasks/c", { test: "exit 1" });
    const shell = ["sh", "-c", '{ "$@"; echo "$?" > code; } 2>&1 | true', "sh", ...command];
    await room.run(["job.yaml"], { command: shell });
    expect(await room.read("code")).toBe("3\n");
    expect(await room.readJson("jobs/job/result.json")).toMatchObject({ completed_trials: 4, failed_trials: 2 });
  });

  test("a closed stdout does not cost the job anything either", async () => {
    const shell = ["sh", "-c", 'exec "$@" >&-', "sh", ...command];
    expect(await room.run(["job.yaml"], { command: shell })).toMatchObject({ code: 0 });
    expect(await room.readJson("jobs/job/result.json")).toMatchObject({ completed_trials: 4 });
  });
});

describe("on a terminal", () => {
  const runOnTerminal = async (...given: Parameters<typeof onTerminal>): Promise<string> => {
    const { code, stdout } = await room.run([], onTerminal(...given));
    expect(code).toBe(0);
    return stdout;
  };

  test("a live block is drawn over and over and taken away at the end, and the cursor comes back", async (context) => {
    const screen = await runOnTerminal(context, ["job.yaml"]);
    expect(screen).toMatch(redraw);
    expect(screen).toMatch(colour);
    expect(screen.lastIndexOf(`${escape}[?25h`)).toBeGreaterThan(screen.lastIndexOf(`${escape}[?25l`));
    expect(screen).toContain("completed");
    expect(screen).not.toContain("[1/4] pass");
  });

  test("NO_COLOR takes the colour away", async (context) => {
    expect(await runOnTerminal(context, ["job.yaml"], { NO_COLOR: "1" })).not.toMatch(colour);
  });

  const still: Readonly<Record<string, Record<string, string>>> = {
    "CI=true": { CI: "true" },
    "TERM=dumb": { TERM: "dumb" },
  };
  for (const [title, env] of Object.entries(still)) {
    test(`${title} stops all drawing over`, async (context) => {
      const screen = await runOnTerminal(context, ["job.yaml"], env);
      expect(screen).not.toMatch(redraw);
      expect(screen).toContain("[1/4] pass");
    });
  }

  test("--quiet draws nothing", async (context) => {
    expect(await runOnTerminal(context, ["job.yaml", "--quiet"])).toBe("");
  });
});

describe("hostile text", () => {
  // Clears the screen, sets the title, asks the terminal for an answer, rings, goes back to overwrite, and a C1 code.
  const attack = "\\u001b[2J\\u001b]0;owned\\u0007\\u001b[6n\\u0007\\b\\b\\r\\u009b31m";

  test("that an agent prints never reaches the terminal as it is", async () => {
    await room.writeTask("tasks/bad", { test: `print-raw ${attack}\nexit 1` });
    await room.writeJob({ ...agentOf(`print-raw seen${attack}\nexit 3`), n_concurrent_trials: 1 });
    const ran = await room.run(["job.yaml"], { env: { FORCE_COLOR: "1" } });
    const shown = await room.run(["show", "jobs/job/agent/tasks/bad__1"]);
    expect(shown.stdout).toContain("seen");
    for (const text of [ran.stdout, ran.stderr, shown.stdout, shown.stderr]) {
      expect(text.replaceAll(new RegExp(colour, "g"), "")).toMatch(/^[^\u0000-\u0009\u000b-\u001f\u007f-\u009f]*$/);
    }
    const events = await room.run(["job.yaml", "--name", "events", "--json=events"]);
    expect(events.stdout).not.toContain(escape);
  });

  test("in names, metadata and messages of a task never reaches the terminal as it is", async () => {
    const toml = `version = "1.0"\nsource = "${attack.replace("\\b\\b", "")}"\nspeed = "${attack}"\n[metadata]\ncategory = "${attack}"\n`;
    await room.writeTask("tasks/loud\u001b[2J", { toml });
    await room.writeJob({ log_level: "debug" });
    for (const args of [
      ["plan", "job.yaml"],
      ["validate", "job.yaml"],
      ["validate", "tasks"],
      ["job.yaml"],
      ["show", "jobs/job"],
    ]) {
      const { stdout, stderr } = await room.run(args);
      expect(stdout + stderr).toMatch(/^[^\u0000-\u0009\u000b-\u001f\u007f-\u009f]*$/);
    }
  });

  test("that an agent prints is harmless on a terminal too", async (context) => {
    await room.writeJob({ ...agentOf(`print-raw seen${attack}\nprint-raw seen${attack}\nexit 3`), log_level: "debug" });
    const { stdout } = await room.run([], onTerminal(context, ["job.yaml"]));
    expect(stdout).toContain("seen");
    for (const code of ["[2J", "]0;owned", "[6n"]) expect(stdout).not.toContain(`${escape}${code}`);
    expect(stdout).not.toMatch(/[\u0007\b\u009b]/);
  });
});
