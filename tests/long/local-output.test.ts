import { readFileSync } from "node:fs";
import { stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLocalRig } from "../e2e/local-rig.ts";

const rig = await openLocalRig();

test("an agent that prints 1 GB costs neither memory nor more disk than output_limit", async () => {
  const flood = "yes 'a line that says nothing' | head -c 512M";
  const instruction = `echo first; ${flood} & ${flood} >&2; wait; echo last; until [ -e /tmp/go ]; do sleep 0.05; done`;
  const room = await rig.makeRoom({ one: { instruction: `[ $1 = install ] || { ${instruction}; }` } });
  const running = room.start(["job.yaml"], { patienceMs: 1_200_000 });
  await running.until("all is printed", () => rig.processes().some((words) => words.endsWith("sleep 0.05")));
  const peakKilobytes = Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${running.pid}/status`, "utf8"))?.[1]);
  await writeFile(join(rig.environmentDir(rig.environments()[0] ?? ""), "disk/volumes/tmp/go"), "");
  expect(await running.ended).toMatchObject({ code: 0 });
  console.log(`peak memory ${Math.round(peakKilobytes / 1024)} MiB`);
  expect(peakKilobytes).toBeLessThan(500_000);
  for (const file of ["stdout.txt", "stderr.txt"]) {
    const { size } = await stat(room.path("jobs/job/agent/tasks/one__1/command", file));
    expect(size).toBeGreaterThanOrEqual(64 << 20);
    expect(size).toBeLessThan((64 << 20) + 1000);
  }
  const text = await room.read("jobs/job/agent/tasks/one__1/command/stdout.txt");
  expect(text.startsWith("first\na line")).toBe(true);
  expect(text.endsWith("last\n")).toBe(true);
});
