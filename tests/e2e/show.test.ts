import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { agentOf, makeJobRoom } from "./rollout-cli.ts";

describe("show", () => {
  test("prints the summary of a finished job as its run did", async () => {
    const room = await makeJobRoom({}, ["a", "b"]);
    await room.writeTask("tasks/wrong", { test: "reward 0" });
    const ran = await room.run(["job.yaml"]);
    const shown = await room.run(["show", "jobs/job"]);
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    const table = (text: string): string => text.slice(0, text.indexOf("\nresults"));
    expect(table(shown.stdout)).toBe(table(ran.stdout));
    expect(shown.stdout).toContain("rollout show jobs/job/agent/tasks/wrong__1");
  });

  test("prints the run and every trial as JSON", async () => {
    const room = await makeJobRoom({}, ["a", "b"]);
    await room.run(["job.yaml"]);
    const { stdout } = await room.run(["show", "jobs/job", "--json"]);
    const shown = JSON.parse(stdout) as { units: { labels: unknown; scores: unknown }[] };
    expect(shown).toMatchObject({
      schema_version: 1,
      run: { kind: "job", name: "job", status: "completed", location: "jobs/job", owner: null },
    });
    expect(shown.units.map(({ labels, scores }) => ({ labels, scores }))).toEqual(
      ["a", "b"].map((task) => ({
        labels: { agent: "agent", dataset: "tasks", task, attempt: "1" },
        scores: [{ name: "reward", value: 1 }],
      })),
    );
  });

  test("tells all there is to know about one trial", async () => {
    const room = await makeJobRoom(agentOf("echo working\ncomplain something broke\nexit 4"));
    await room.writeTask("tasks/alpha", {
      toml: 'version = "1.0"\nsource = "a book"\n[metadata]\ndifficulty = "easy"\n',
    });
    await room.run(["job.yaml"]);
    const { code, stdout } = await room.run(["show", "jobs/job/agent/tasks/alpha__1"]);
    expect(code).toBe(0);
    for (const text of [
      "agent",
      "tasks/alpha #1",
      "a book",
      "easy",
      "agent_execution_failed in agent execution, cause: agent",
      "working",
      "something broke",
      "not reached",
    ])
      expect(stdout).toContain(text);
    const json = await room.run(["show", "jobs/job/agent/tasks/alpha__1", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      schema_version: 1,
      run: { kind: "job", name: "job" },
      units: [{ key: "agent/tasks/alpha__1", status: "failed", failure: { type: "agent_execution_failed" } }],
    });
  });

  test("reads a job while it runs", async () => {
    const room = await makeJobRoom({}, ["a", "b"]);
    await room.writeTask("tasks/b", { test: `tell ${room.path("judging")}\nwait-for ${room.path("go")}\nreward 1` });
    await room.writeJob({ n_concurrent_trials: 1 });
    const running = room.start(["job.yaml"]);
    await running.until("the second trial is being judged", () => existsSync(room.path("judging")));
    const { code, stdout } = await room.run(["show", "jobs/job"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/This job is running: process \d+\./);
    expect(stdout).toContain("1 of 2 trials finished");
    const json = JSON.parse((await room.run(["show", "jobs/job", "--json"])).stdout) as unknown;
    expect(json).toMatchObject({
      run: {
        status: "running",
        owner: { pid: running.pid },
        plan: { total: 2 },
        counts: { completed: 1 },
        ended_at: null,
      },
    });
    await room.write("go", "");
    expect(await running.ended).toMatchObject({ code: 0 });
    expect((await room.run(["show", "jobs/job"])).stdout).not.toContain("This job");
  });

  test("of a job that was killed says what removes what it may have left", async () => {
    const room = await makeJobRoom();
    await room.writeJob(agentOf(`tell ${room.path("begun")}\nwait`));
    const running = room.start(["job.yaml"]);
    await running.until("the agent has begun", () => existsSync(room.path("begun")));
    running.kill("SIGKILL");
    await running.ended;
    const { stdout } = await room.run(["show", "jobs/job"]);
    expect(stdout).toMatch(/its process \d+ is gone\..*`rollout clean`/);
    expect(stdout).toMatch(/next +rollout resume jobs\/job\n +rollout clean\n/);
  });

  test("of a directory that no job made ends with 2", async () => {
    const room = await makeJobRoom();
    for (const path of ["tasks", "nothing", "job.yaml"]) {
      const { code, stdout, stderr } = await room.run(["show", path]);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toContain(path === "nothing" ? "nothing does not exist" : `${path} is not a job directory`);
    }
  });

  test("leaves out a line of the journal that a crash tore", async () => {
    const room = await makeJobRoom({}, ["a", "b"]);
    await room.run(["job.yaml"]);
    const journal = await room.read("jobs/job/.rollout/journal.jsonl");
    const lines = journal.trimEnd().split("\n");
    const [first, second] = lines.filter((line) => line.includes('"trial_finished"'));
    await room.write("jobs/job/.rollout/journal.jsonl", `${lines[0]}\n${first}\n${second?.slice(0, 40)}`);
    const { code, stdout } = await room.run(["show", "jobs/job"]);
    expect(code).toBe(0);
    expect(stdout).toContain("1 of 2 trials finished");
  });
});
