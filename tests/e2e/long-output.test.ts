import { existsSync, readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { agentOf, cannotRun, makeJobRoom } from "./rollout-cli.ts";

const output = "jobs/job/agent/tasks/alpha__1/command/stdout.txt";

test("what an agent prints is in its file while it still runs", async () => {
  const room = await makeJobRoom();
  await room.writeJob(
    agentOf(`echo first\nwait-for ${room.path("one")}\necho second\nwait-for ${room.path("two")}\necho third`),
  );
  const running = room.start(["job.yaml"]);
  const reads = (text: string) => () =>
    existsSync(room.path(output)) && readFileSync(room.path(output), "utf8") === text;
  await running.until("the first line is on disk", reads("first\n"));
  await room.write("one", "");
  await running.until("the second line is on disk", reads("first\nsecond\n"));
  await room.write("two", "");
  expect(await running.ended).toMatchObject({ code: 0 });
  expect(await room.read(output)).toBe("first\nsecond\nthird\n");
});

describe("an agent that prints 400 MB", () => {
  test("costs neither memory nor more disk than output_limit", async (context) => {
    if (process.platform !== "linux") cannotRun(context, "peak memory is read from /proc, which only Linux has");
    const room = await makeJobRoom();
    const limit = 4 << 20;
    await room.writeJob({
      ...agentOf(
        `echo the beginning\nflood 400\necho the end\ntell ${room.path("printed")}\nwait-for ${room.path("go")}`,
      ),
      output_limit: "4Mi",
    });
    const running = room.start(["job.yaml"]);
    await running.until("all is printed", () => existsSync(room.path("printed")));
    const peakKilobytes = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${running.pid}/status`, "utf8"))?.[1]);
    await room.write("go", "");
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(peakKilobytes).toBeGreaterThan(30_000);
    expect(peakKilobytes).toBeLessThan(400_000);
    const { size } = await stat(room.path(output));
    expect(size).toBeGreaterThanOrEqual(limit);
    expect(size).toBeLessThan(limit + 1000);
    const text = await room.read(output);
    expect(text.startsWith("the beginning\nflood")).toBe(true);
    expect(text.endsWith("the end\n")).toBe(true);
    expect(text).toMatch(/\d+ bytes were cut here/);
    expect(await room.files("jobs/job/agent/tasks/alpha__1/command")).toEqual(["stderr.txt", "stdout.txt"]);
  });
});
