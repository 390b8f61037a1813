import { describe, expect, test } from "vitest";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { agentOf, makeJobRoom } from "./rollout-cli.ts";
import { mountSmallDisk } from "./small-disk.ts";

describe("a disk that is full", () => {
  test("ends a job with a clear message, and what finished before can be read", async (context) => {
    const room = await makeJobRoom({}, ["a", "c"]);
    const disk = mountSmallDisk(context, room, 1 << 20);
    await room.writeTask("tasks/b", { test: "flood 2\nreward 1" });
    await room.writeJob({ ...agentOf("echo hello"), n_concurrent_trials: 1 });
    const { code, stdout, stderr } = await room.run(["job.yaml"]);
    expect(stderr).toContain("no space left on device");
    expect(stderr).toContain("the disk is full; what was finished before is still there");
    expect(stderr).not.toContain("bug");
    expect(code).toBe(70);
    // Trials whose results could not be kept are not started, and what is known is still told.
    expect(stdout).toContain("1 skipped");

    const first = await room.readJson<TrialResultFile>("jobs/job/agent/tasks/a__1/result.json");
    expect(first).toMatchObject({ reward: 1, error: null });
    const shown = await room.run(["show", "jobs/job"]);
    expect(shown).toMatchObject({ code: 0, stderr: "" });
    expect(shown.stdout).toContain("1 passed");

    // With more room the job goes on: what was cut runs again, what was finished does not.
    disk.resize(16 << 20);
    const resumed = await room.run(["resume", "jobs/job"]);
    expect(resumed, resumed.stderr).toMatchObject({ code: 0 });
    expect(await room.readJson("jobs/job/agent/tasks/a__1/result.json")).toEqual(first);
    expect(await room.readJson("jobs/job/agent/tasks/b__1/result.json")).toMatchObject({ reward: 1, tries: 2 });
    expect(await room.run(["verify", "jobs/job"])).toMatchObject({ code: 0 });
  });

  test("from the start is told before anything runs", async (context) => {
    const room = await makeJobRoom();
    mountSmallDisk(context, room, 1 << 20);
    await room.run([], { command: ["sh", "-c", "head -c 2000000 /dev/zero > jobs/filler"] });
    const { code, stderr } = await room.run(["job.yaml"]);
    expect(code).toBe(70);
    expect(stderr).toContain("the disk is full");
    expect(stderr).not.toContain("bug");
    expect(await room.files("jobs/job/agent")).toEqual([]);
  });
});

test("a jobs_dir that cannot be written to is told before anything runs", async () => {
  const room = await makeJobRoom({ jobs_dir: "taken" });
  await room.write("taken", "a file");
  const { code, stderr } = await room.run(["job.yaml"]);
  expect(code).toBe(2);
  expect(stderr).toContain("taken");
  expect(stderr).not.toContain("    at ");
});
