import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { eventually, openLocalRig, rewarding } from "./local-rig.ts";

const rig = await openLocalRig();

describe("rollout logs", () => {
  test("follows a trial that prints slowly, from its first line to its verifier", async () => {
    const hostile = String.raw`printf '\033[2J\033]0;owned\007red\n'`;
    const script = `[ "$1" = install ] && { echo installed; exit; }
echo first; until [ -e /logs/agent/go ]; do sleep 0.05; done; ${hostile} >&2; head -c 5000 /dev/zero | tr '\\0' x; echo; echo last`;
    const room = await rig.makeRoom({
      slow: { instruction: script, test: `echo judged; ${rewarding(1)}` },
      other: { instruction: "echo other" },
    });
    const job = room.start(["job.yaml", "-q"]);
    await job.until("the job has begun", async () => (await room.files("jobs/job")).includes(".rollout/journal.jsonl"));
    const follower = room.start(["logs", "jobs/job", "slow", "-f"]);
    await follower.until("the first line is printed", () => follower.stdout().includes("first"));
    const now = await room.run(["logs", "jobs/job", "slow__1", "--stream", "command/stdout"]);
    expect(now).toMatchObject({ code: 0, stdout: "first\n", stderr: "" });
    await eventually("only the slow one is left", () => rig.environments().slice(1));
    for (const id of rig.environments()) writeFileSync(join(rig.environmentDir(id), "disk/volumes/logs/agent/go"), "");
    expect((await job.ended).code).toBe(0);
    const { code, stdout, stderr } = await follower.ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const lines = stdout.split("\n");
    // Which of two streams comes first depends on when the files are looked at.
    expect(lines.filter((line) => line !== "" && !line.includes("xxx")).sort()).toEqual([
      "command/err  | red",
      "command/out  | first",
      "command/out  | last",
      "setup/out    | installed",
      "verifier/out | judged",
    ]);
    expect(lines.find((line) => line.includes("xxx"))).toMatch(/^command\/out {2}\| x{4096}… \(904 more bytes\)$/);

    const after = await room.run(["logs", "jobs/job", "agent/tasks/slow__1", "-f"]);
    expect(after.stdout).toContain("==> command/stdout.txt <==\nfirst\nxxx");
    expect(after.stdout).toContain("\n\n==> logs/verifier/stdout.txt <==\njudged\n");
    expect(after.stdout).not.toContain("\x1b");
    const unknown = await room.run(["logs", "jobs/job", "agent"]);
    expect(unknown).toMatchObject({ code: 2, stdout: "" });
    expect(unknown.stderr).toContain("2 trials match");
    expect(unknown.stderr).toContain("agent/tasks/slow__1");
  });

  test("ends when the process of the job dies, and at Ctrl-C", async () => {
    const room = await rig.makeRoom({ slow: { instruction: '[ "$1" = install ] || { echo begun; sleep 4723; }' } });
    const job = room.start(["job.yaml", "-q"]);
    await job.until("the job has begun", async () => (await room.files("jobs/job")).includes(".rollout/journal.jsonl"));
    const [first, second] = [0, 1].map(() =>
      room.start(["logs", "jobs/job", "slow", "-f", "--stream", "command/stdout"]),
    );
    for (const follower of [first, second])
      await follower?.until("a line is printed", () => follower.stdout() === "begun\n");
    first?.kill("SIGINT");
    expect(await first?.ended).toMatchObject({ code: 130, stdout: "begun\n", stderr: "" });
    job.kill("SIGKILL");
    expect(await second?.ended).toMatchObject({
      code: 0,
      stdout: "begun\n",
      stderr: "agent/tasks/slow__1 has no result: the process of its job has ended\n",
    });
    await rig.startAgain();
  });
});
