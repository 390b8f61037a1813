import { execFileSync } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { describe, expect, onTestFinished, test, type TestContext } from "vitest";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { agentOf, cannotRun, makeJobRoom, type Room } from "./rollout-cli.ts";

/** Makes `jobs` of a room a file system of its own that holds one megabyte. */
async function mountSmallDisk(context: TestContext, room: Room): Promise<void> {
  if (process.getuid?.() !== 0 || process.platform !== "linux")
    cannotRun(context, "only root on Linux can mount a small disk");
  const jobs = room.path("jobs");
  await mkdir(jobs);
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=1m", "tmpfs", jobs], { stdio: "pipe" });
  } catch {
    cannotRun(context, "this machine does not let even root mount a small disk");
  }
  onTestFinished(() => void execFileSync("umount", ["--lazy", jobs]));
}

describe("a disk that is full", () => {
  test("ends a job with a clear message, and what finished before can be read", async (context) => {
    const room = await makeJobRoom({}, ["a", "c"]);
    await mountSmallDisk(context, room);
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
    execFileSync("mount", ["-o", "remount,size=16m", room.path("jobs")]);
    const resumed = await room.run(["resume", "jobs/job"]);
    expect(resumed, resumed.stderr).toMatchObject({ code: 0 });
    expect(await room.readJson("jobs/job/agent/tasks/a__1/result.json")).toEqual(first);
    expect(await room.readJson("jobs/job/agent/tasks/b__1/result.json")).toMatchObject({ reward: 1, tries: 2 });
    expect(await room.run(["verify", "jobs/job"])).toMatchObject({ code: 0 });
  });

  test("from the start is told before anything runs", async (context) => {
    const room = await makeJobRoom();
    await mountSmallDisk(context, room);
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
