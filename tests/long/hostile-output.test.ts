import { readdirSync, readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { openLocalRig, rewarding } from "../e2e/local-rig.ts";
import type { Running } from "../e2e/rollout-cli.ts";

const rig = await openLocalRig();
const trialKey = "agent/tasks/one__1";

function peakOf(running: Running): () => number {
  let peak = 0;
  const timer = setInterval(() => {
    try {
      const status = readFileSync(`/proc/${running.pid}/status`, "utf8");
      peak = Math.max(peak, Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0));
    } catch {
      clearInterval(timer);
    }
  }, 100);
  return () => peak;
}

test("a line of 1 GB in each phase costs neither memory nor more disk than output_limit", async () => {
  const flood = "head -c 1G /dev/zero | tr '\\0' x";
  const room = await rig.makeRoom({ one: { instruction: flood, test: `${flood} >&2; ${rewarding(1)}` } });
  const running = room.start(["job.yaml"], { patienceMs: 1_200_000 });
  const peak = peakOf(running);
  expect(await running.ended).toMatchObject({ code: 0 });
  console.log(`peak memory ${Math.round(peak() / 1024)} MiB`);
  expect(peak()).toBeLessThan(500_000);
  for (const file of ["setup/stdout.txt", "command/stdout.txt", "logs/verifier/stderr.txt"])
    expect((await stat(room.path("jobs/job", trialKey, file))).size).toBeLessThan((64 << 20) + 1000);
  const shown = await room.run(["show", `jobs/job/${trialKey}`]);
  expect(shown.stdout.length).toBeLessThan(20_000);
});

test.for(["disk", "memory"])("a million files on a %s are cut and told, and the reward is read", async (storage) => {
  const make = `perl -e 'for (1..1000000) { open my $f, q(>), $_ or die }'`;
  const instruction = `[ $1 = install ] || { cd /logs/agent; ${make}; }`;
  const room = await rig.makeRoom(
    { one: { instruction, toml: "[agent]\ntimeout_sec = 1200\n" } },
    { environment: { type: "local", provider_config: { storage } } },
  );
  const running = room.start(["job.yaml"], { patienceMs: 1_800_000 });
  const peak = peakOf(running);
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  const { reward, warnings } = await room.trial(trialKey);
  console.log(`peak memory ${Math.round(peak() / 1024)} MiB on a ${storage}`);
  expect(peak()).toBeLessThan(900_000);
  expect(reward).toBe(1);
  expect(warnings).toContainEqual(expect.stringContaining("more than 100000 entries"));
  expect(readdirSync(room.path("jobs/job", trialKey, "logs/agent")).length).toBeLessThan(100_000);
  expect(await room.read(`jobs/job/${trialKey}/logs/verifier/reward.txt`)).toBe("1\n");
});
