import { existsSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { agentOf, makeJobRoom, scriptedEnvironment, type Room, type Running } from "./rollout-cli.ts";

/** A job of three trials, one at a time, whose agents each wait for a file that the test makes. */
async function startHeldJob(): Promise<{
  room: Room;
  running: Running;
  status: () => Promise<Record<string, unknown>>;
}> {
  const room = await makeJobRoom({}, ["a", "b", "c"]);
  const execute = `tell ${room.path("begun")}\nwait-for ${room.path("go")}`;
  await room.writeJob({ ...agentOf(execute), environment: scriptedEnvironment, n_concurrent_trials: 1 });
  const running = room.start(["job.yaml"]);
  await running.until("the first trial runs", () => existsSync(room.path("begun")));
  const status = async (): Promise<Record<string, unknown>> =>
    JSON.parse((await room.run(["status", "jobs/job", "--json"])).stdout) as Record<string, unknown>;
  return { room, running, status };
}

test("a paused job lets what runs end, starts nothing new, and goes on when it is continued", async () => {
  const { room, running, status } = await startHeldJob();
  expect(await status()).toMatchObject({
    state: "running",
    completed_trials: 0,
    total_trials: 3,
    running: [{ key: "agent/tasks/a__1", phase: "agent_execution" }],
  });
  const paused = await room.run(["pause", "jobs/job"]);
  expect(paused).toMatchObject({ code: 0, stdout: expect.stringContaining("rollout continue jobs/job") });
  await running.until("the job has noticed", () => running.stderr().includes("paused: what runs goes on"));
  writeFileSync(room.path("go"), "");
  await running.until("the first trial ends", async () => (await status())["completed_trials"] === 1);
  expect(await status()).toMatchObject({ state: "paused", completed_trials: 1, running: [] });
  const shown = await room.run(["status", "jobs/job"]);
  expect(shown.stdout).toMatch(
    /^job {2}paused: process \d+ on .*\n1 of 3 trials finished, 2 to come\npass 100% \(1 of 1\)\n$/,
  );
  expect((await room.run(["show", "jobs/job"])).stdout).toMatch(/^This job is paused: process \d+\. 1 of 3 trials/);
  expect((await room.run(["verify", "jobs/job"])).stdout).toMatch(
    /^this job has not ended, so that what is recorded may be behind; process \d+ on \S+ brings it up to date\n/,
  );
  expect(await room.run(["continue", "jobs/job"])).toMatchObject({ code: 0, stdout: "continued\n" });
  expect(await running.ended).toMatchObject({ code: 0, stderr: expect.stringContaining("continued") });
  expect(await status()).toMatchObject({ state: "ended", completed_trials: 3, running: [] });
  expect(existsSync(room.path("jobs/job/.rollout/pause"))).toBe(false);
});

test("a paused job can be cancelled, and is not paused when it is resumed", async () => {
  const { room, running, status } = await startHeldJob();
  await room.run(["pause", "jobs/job"]);
  await running.until("the job has noticed", () => running.stderr().includes("paused"));
  running.kill("SIGKILL");
  await running.ended;
  const next = "rollout resume jobs/job";
  expect(await status()).toMatchObject({ state: "died", skipped_trials: 3, next, running: [] });
  expect((await room.run(["status", "jobs/job"])).stdout).toMatch(
    /^job {2}interrupted: it did not end, and process \d+ on \S+ is gone\n0 of 3 trials finished, 3 without a result\nnext: rollout resume jobs\/job\n$/,
  );
  const refused = await room.run(["pause", "jobs/job"]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("rollout resume jobs/job") });
  writeFileSync(room.path("go"), "");
  expect(await room.run(["resume", "jobs/job"])).toMatchObject({ code: 0 });
  expect(await status()).toMatchObject({ state: "ended", completed_trials: 3 });
});

test("a paused job ends at once when it is interrupted", async () => {
  const { room, running, status } = await startHeldJob();
  await room.run(["pause", "jobs/job"]);
  await running.until("the job has noticed", () => running.stderr().includes("paused"));
  running.kill("SIGINT");
  expect(await running.ended).toMatchObject({ code: 130 });
  expect(await status()).toMatchObject({ state: "ended", cancelled: true, skipped_trials: 2 });
  const again = await room.run(["continue", "jobs/job"]);
  expect(again.stderr).toContain("only a running job can be paused; resume it with: rollout resume jobs/job\n");
  expect((await room.run(["status", "jobs/job"])).stdout).toBe(
    "job  cancelled\n0 of 3 trials finished, 1 cut short, 2 skipped\nnext: rollout resume jobs/job\n",
  );
});

test("only a job that runs can be held", async () => {
  const room = await makeJobRoom();
  expect(await room.run(["job.yaml"])).toMatchObject({ code: 0 });
  for (const word of ["pause", "continue"])
    expect(await room.run([word, "jobs/job"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("jobs/job is not running"),
    });
  expect(await room.run(["status", "jobs/none"])).toMatchObject({ code: 2 });
});
