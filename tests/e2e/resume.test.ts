import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import { agentOf, makeJobRoom, makeRoom, type Ended, type Room, type Running } from "./rollout-cli.ts";

const resultOf = (room: Room): Promise<JobResultFile> => room.readJson("jobs/job/result.json");

/** A room with tasks a, b and c, one at a time, of which b waits for a file called go. */
async function makeWaitingRoom(changes: Readonly<Record<string, unknown>> = {}): Promise<Room> {
  const room = await makeJobRoom({}, ["a", "c"]);
  const test = `tell ${room.path("begun")}\nwait-for ${room.path("go")}\nreward 1`;
  await room.writeTask("tasks/b", { test });
  await room.writeJob({ n_concurrent_trials: 1, ...changes });
  return room;
}

async function startAndWait(room: Room, args: readonly string[]): Promise<Running> {
  const running = room.start(args);
  await running.until("the second trial waits", () => existsSync(room.path("begun")));
  return running;
}

async function interrupt(room: Room, signal: NodeJS.Signals): Promise<string> {
  const running = await startAndWait(room, ["job.yaml"]);
  running.kill(signal);
  const { stdout } = await running.ended;
  writeFileSync(room.path("go"), "");
  return stdout;
}

describe("a job that was interrupted", () => {
  test.for(["SIGINT", "SIGKILL"] as const)("by %s goes on where it was", async (signal) => {
    const room = await makeWaitingRoom();
    const stdout = await interrupt(room, signal);
    if (signal === "SIGINT") expect(stdout).toMatch(/^next {5}rollout resume jobs\/job$/m);
    const shown = await room.run(["show", "jobs/job"]);
    expect(shown.stdout).toMatch(/^next {5}rollout resume jobs\/job$/m);
    const first = await room.read("jobs/job/agent/tasks/a__1/result.json");

    const resumed = await room.run(["resume", "jobs/job"]);
    expect(resumed, resumed.stderr).toMatchObject({ code: 0 });
    expect(resumed.stdout).toContain("over 2 sessions");
    expect(resumed.stdout).toContain("3 trials · ");
    expect(resumed.stderr).not.toContain("agent tasks/a");
    expect(await room.read("jobs/job/agent/tasks/a__1/result.json")).toBe(first);
    expect(await room.readJson("jobs/job/agent/tasks/b__1/result.json")).toMatchObject({ tries: 2, reward: 1 });
    expect(await room.read("jobs/job/agent/tasks/b__1/retries/1/command/stdout.txt")).toBe("hello\n");
    expect(await resultOf(room)).toMatchObject({ completed_trials: 3, failed_trials: 0, skipped_trials: 0 });
    expect(await room.run(["verify", "jobs/job"])).toMatchObject({ code: 0 });

    // Nothing is left, and to say so once more costs nothing.
    const again = await room.run(["resume", "jobs/job", "--json"]);
    expect(again).toMatchObject({ code: 0 });
    expect(JSON.parse(again.stdout)).toMatchObject({ exit_code: 0, result: { completed_trials: 3 } });
  });

  test("goes on from its job file, which also starts it when there is nothing yet", async () => {
    const room = await makeWaitingRoom();
    const running = await startAndWait(room, ["job.yaml", "--resume"]);
    running.kill("SIGKILL");
    await running.ended;
    const refused = await room.run(["job.yaml"]);
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.stderr).toContain("--resume");
    writeFileSync(room.path("go"), "");
    expect(await room.run(["job.yaml", "--resume"])).toMatchObject({ code: 0 });
    expect(await resultOf(room)).toMatchObject({ completed_trials: 3 });
  });

  test("keeps the tasks it was asked for, and grows by what is asked for now", async () => {
    const room = await makeJobRoom({}, ["a", "b"]);
    await room.run(["job.yaml", "--task", "a"]);
    expect(await room.run(["resume", "jobs/job"])).toMatchObject({ code: 0 });
    expect(await resultOf(room)).toMatchObject({ total_trials: 1 });
    expect(await room.run(["resume", "jobs/job", "--attempts", "2"])).toMatchObject({ code: 0 });
    expect(await resultOf(room)).toMatchObject({ total_trials: 2, completed_trials: 2 });
    expect(await room.run(["job.yaml", "--resume", "--attempts", "2"])).toMatchObject({ code: 0 });
    expect(await resultOf(room)).toMatchObject({ total_trials: 4, completed_trials: 4, mixed_inputs: [] });
  });

  test("is found again although a path of it holds the value of a variable", async () => {
    const room = await makeJobRoom(agentOf("echo hello", { env: { PLACE: "${PLACE}" } }));
    const env = { PLACE: room.dir };
    expect(await room.run(["job.yaml"], { env })).toMatchObject({ code: 0 });
    expect(await room.read("jobs/job/config.json")).toContain("[redacted:PLACE]/tasks");
    expect(await room.run(["resume", "jobs/job", "--attempts", "2"], { env })).toMatchObject({ code: 0 });
    expect(await resultOf(room)).toMatchObject({ completed_trials: 2, mixed_inputs: [] });
  });
});

describe("what cannot be resumed", () => {
  test("is refused with the reason", async () => {
    const room = await makeJobRoom();
    await room.write("plain/file.txt", "");
    const nothing = await room.run(["resume", "jobs/none"]);
    expect(nothing).toMatchObject({ code: 2, stderr: expect.stringContaining("jobs/none does not exist") });
    const plain = await room.run(["resume", "plain"]);
    expect(plain).toMatchObject({ code: 2, stderr: expect.stringContaining("is not a job directory") });
    expect(await room.files("plain")).toEqual(["file.txt"]);
    const alone = await room.run(["job.yaml", "--retry-failed"]);
    expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining("--resume") });
    await room.writeJob({ name: undefined });
    const nameless = await room.run(["job.yaml", "--resume"]);
    expect(nameless).toMatchObject({ code: 2, stderr: expect.stringContaining("rollout resume jobs/<job>") });
  });
});

describe("failed trials", () => {
  test("are repeated when they are asked for, wherever the option stands", async () => {
    const room = await makeJobRoom({}, ["a", "b"]);
    await room.writeTask("tasks/b", { test: `wait-for ${room.path("go")}\nexit 1` });
    writeFileSync(room.path("go"), "");
    expect(await room.run(["job.yaml"])).toMatchObject({ code: 3 });
    expect(await room.run(["resume", "jobs/job"])).toMatchObject({ code: 3 });
    expect(await room.run(["resume", "--retry-failed", "jobs/job", "-q"])).toMatchObject({ code: 3 });
    const b = "jobs/job/agent/tasks/b__1/result.json";
    expect(await room.readJson(b)).toMatchObject({ tries: 2, error: { type: "verifier_failed" } });
    expect(await room.run(["resume", "jobs/job", "--retry-failed", "agent_install_failed"])).toMatchObject({ code: 3 });
    expect(await room.readJson(b)).toMatchObject({ tries: 2 });
    const types = "agent_install_failed,verifier_failed";
    expect(await room.run(["resume", "--retry-failed", types, "jobs/job"])).toMatchObject({ code: 3 });
    expect(await room.readJson(b)).toMatchObject({ tries: 3 });
    const unknown = await room.run(["resume", "jobs/job", "--retry-failed=verifer_failed"]);
    expect(unknown).toMatchObject({ code: 2, stderr: expect.stringContaining('did you mean "verifier_failed"') });
  });
});

describe("a job that is not what it was", () => {
  test("is refused with the difference until it is accepted, and then says what is mixed", async () => {
    const room = await makeJobRoom(agentOf("echo hello"), ["a", "b"]);
    await room.run(["job.yaml"]);
    await room.writeJob(agentOf("echo hello\necho more"));
    await room.write("tasks/a/tests/test.sh", "reward 0\n");
    const before = await room.files("jobs/job");
    const refused = await room.run(["job.yaml", "--resume", "--attempts", "2"]);
    expect(refused.code).toBe(2);
    expect(refused.stdout).toBe("");
    expect(refused.stderr).toMatch(/^agents\.agent\.execute\n {4}echo hello\n {2}\+ echo more$/m);
    expect(refused.stderr).toMatch(/^task tasks\/a: tests\/test\.sh\n {2}- reward 1\n {2}\+ reward 0\n/m);
    expect(refused.stderr).toContain("--accept-changes");
    expect(await room.files("jobs/job")).toEqual(before);

    const accepted = await room.run(["job.yaml", "--resume", "--attempts", "2", "--accept-changes"]);
    expect(accepted, accepted.stderr).toMatchObject({ code: 0 });
    expect(accepted.stderr).toContain("+ echo more");
    expect(accepted.stdout).toContain("2 of 2 kept trials ran with other inputs than this job has now");
    const { mixed_inputs: mixed } = await resultOf(room);
    expect(mixed.map(({ kind, name }) => `${kind} ${name}`)).toEqual(["agent agent", "task tasks/a"]);
    expect(await room.run(["verify", "jobs/job"])).toMatchObject({ code: 0 });
  });

  test("goes on as it ran from its directory, and says that its file is newer", async () => {
    const room = await makeJobRoom(agentOf("echo hello"));
    await room.run(["job.yaml"]);
    await room.writeJob({ ...agentOf("echo other"), n_attempts: 5 });
    const { code, stderr } = await room.run(["resume", "jobs/job"]);
    expect(code).toBe(0);
    expect(stderr).toContain("job.yaml was written after the job ran");
    expect(stderr).toContain("rollout job.yaml --resume --name job");
    expect(await resultOf(room)).toMatchObject({ total_trials: 1 });
  });
});

describe("two processes on one job directory", () => {
  test("the second is refused with the first one's id and machine", async () => {
    const room = await makeWaitingRoom();
    const first = await startAndWait(room, ["job.yaml"]);
    for (const args of [
      ["resume", "jobs/job"],
      ["job.yaml", "--resume"],
    ]) {
      const second = await room.run(args);
      expect(second.code).toBe(2);
      expect(second.stderr).toContain(`is in use by process ${first.pid} on ${hostname()}`);
    }
    writeFileSync(room.path("go"), "");
    expect(await first.ended).toMatchObject({ code: 0 });
    expect(await resultOf(room)).toMatchObject({ completed_trials: 3 });
  });

  test("of several that find a dead one's lock at once, one takes it", async () => {
    const room = await makeWaitingRoom();
    const dead = await startAndWait(room, ["job.yaml"]);
    dead.kill("SIGKILL");
    await dead.ended;
    const runs = Array.from({ length: 4 }, () => room.start(["resume", "jobs/job", "-q"]));
    const ends = runs.map((run) => run.ended);
    // The one that goes on waits until the others have given up.
    const ended = new Set<Ended>();
    for (const end of ends) void end.then((one) => ended.add(one));
    while (ended.size < 3) await sleep(20);
    writeFileSync(room.path("go"), "");
    const codes = (await Promise.all(ends)).map(({ code }) => code);
    expect(codes.filter((code) => code !== 2)).toEqual([0]);
    const journal = readFileSync(room.path("jobs/job/.rollout/journal.jsonl"), "utf8");
    expect(journal.split('"type":"job_started"')).toHaveLength(3);
    expect(await room.run(["verify", "jobs/job"])).toMatchObject({ code: 0 });
  });
});

describe("verify", () => {
  test("names each difference with its file and field, and exits with 1", async () => {
    const room = await makeJobRoom({}, ["a", "b"]);
    await room.run(["job.yaml"]);
    const good = await room.run(["verify", "jobs/job"]);
    expect(good).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^everything is as its trials say: 2 trials, /),
    });
    const result = await resultOf(room);
    await room.write("jobs/job/result.json", JSON.stringify({ ...result, pass_rate: 0.5, total_cost: 3 }));
    const bad = await room.run(["verify", "jobs/job"]);
    expect(bad.code).toBe(1);
    expect(bad.stdout).toContain("result.json pass_rate: recorded 0.5, recomputed 1\n");
    expect(bad.stdout).toContain("result.json total_cost: recorded 3, recomputed 0\n");
    const json = await room.run(["verify", "jobs/job", "--json"]);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.stdout)).toMatchObject({
      schema_version: 1,
      has_ended: true,
      trials: 2,
      differences: [{ file: "result.json", field: "pass_rate", recorded: 0.5, recomputed: 1 }, { field: "total_cost" }],
    });
    const room2 = await makeRoom();
    expect(await room2.run(["verify", "."])).toMatchObject({ code: 2 });
  });

  test("says first that a job has not ended, and counts the totals that are behind", async () => {
    const room = await makeJobRoom({}, ["a", "b"]);
    await room.run(["job.yaml"]);
    const lines = (await room.read("jobs/job/.rollout/journal.jsonl")).split("\n");
    await room.write("jobs/job/.rollout/journal.jsonl", `${lines.slice(0, -2).join("\n")}\n`);
    const behind = { ...(await resultOf(room)), total_cost: 3, completed_trials: 1 };
    await room.write("jobs/job/result.json", JSON.stringify(behind));
    const { code, stdout } = await room.run(["verify", "jobs/job"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^this job has not ended, so that what is recorded may be behind; rollout resume jobs\/job brings it up to date\nresult\.json: \d+ values are not what the trials say so far\n\d+ differences in 2 trials, \d+ values\n$/,
    );
  });
});
