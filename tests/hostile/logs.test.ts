import { lstatSync, readdirSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { openLocalRig, rewarding, type LocalRoom } from "../e2e/local-rig.ts";

const rig = await openLocalRig();
const trialKey = "agent/tasks/one__1";
const trialDir = `jobs/job/${trialKey}`;

interface Attempt {
  readonly storage: "disk" | "memory";
  /** What the agent does in /logs/agent. */
  readonly agent?: string;
  /** What the tests do in /logs/verifier beside their reward. */
  readonly test?: string;
  readonly toml?: string;
  readonly job?: Readonly<Record<string, unknown>>;
}

async function runOne({ storage, agent = ":", test: tests = ":", toml, job = {} }: Attempt): Promise<LocalRoom> {
  const room = await rig.makeRoom(
    {
      one: {
        instruction: `[ $1 = install ] || { cd /logs/agent; ${agent}; }`,
        test: `cd /logs/verifier; ${tests}; ${rewarding(1)}`,
        ...(toml === undefined ? {} : { toml }),
      },
    },
    { environment: { type: "local", provider_config: { storage } }, ...job },
  );
  const { code, stderr } = await room.run(["job.yaml"]);
  expect(code, stderr).toBe(0);
  return room;
}

function bytesOnDisk(path: string): number {
  const stats = lstatSync(path);
  if (!stats.isDirectory()) return stats.blocks * 512;
  return readdirSync(path).reduce((sum, name) => sum + bytesOnDisk(`${path}/${name}`), 0);
}

describe.for(["disk", "memory"] as const)("on a %s", (storage) => {
  test("sparse files of a terabyte are left and told, and cost neither disk nor the reward", async () => {
    const toml = '[environment]\nstorage = "2Ti"\n';
    const bombs = "truncate -s 1T a-bomb z-bomb; echo plain > plain";
    // Memory that large is not there; a file without content takes none.
    const room = await runOne({ storage, agent: bombs, test: bombs, toml });
    const { reward, warnings } = await room.trial(trialKey);
    expect(reward).toBe(1);
    expect(warnings.filter((warning) => warning.includes("bomb was not copied")).length).toBeGreaterThan(0);
    expect(await room.read(`${trialDir}/logs/verifier/reward.txt`)).toBe("1\n");
    expect(bytesOnDisk(room.path("jobs"))).toBeLessThan(10 << 20);
    if (storage === "disk") expect(await room.read(`${trialDir}/logs/agent/plain`)).toBe("plain\n");
  });

  test("what is more than logs_limit is left and told, the small beside it is kept", async () => {
    const room = await runOne({
      storage,
      agent:
        "head -c 3M /dev/zero > large; echo x > small; for i in 1 2 3 4 5; do head -c 500K /dev/zero > some-$i; done",
      job: { logs_limit: "1Mi" },
    });
    const { reward, warnings } = await room.trial(trialKey);
    expect(reward).toBe(1);
    expect(warnings).toContain("/logs/agent/large was not copied: the copy would be larger than 1048576 bytes");
    expect(warnings).toHaveLength(4);
    expect(await room.read(`${trialDir}/logs/agent/small`)).toBe("x\n");
    expect(bytesOnDisk(room.path("jobs"))).toBeLessThan(2 << 20);
  });
});

test("20,000 files in the logs are all copied, and secrets are taken out of them", async () => {
  const room = await rig.makeRoom(
    { one: { instruction: "cd /logs/agent; seq 1 20000 | xargs -n 1000 touch; echo $TOKEN > 20000; touch n-$TOKEN" } },
    {
      agents: [{ name: "agent", env: { TOKEN: "${TOKEN}" }, execute: 'bash "$ROLLOUT_TASK_INSTRUCTION" execute' }],
    },
  );
  expect(await room.run(["job.yaml"], { env: { TOKEN: "tell-nobody" } })).toMatchObject({ code: 0 });
  expect(await room.trial(trialKey)).toMatchObject({ reward: 1, warnings: [] });
  expect(readdirSync(room.path(trialDir, "logs/agent"))).toHaveLength(20_001);
  expect(await room.read(`${trialDir}/logs/agent/20000`)).toBe("[redacted:TOKEN]\n");
  expect(await room.read(`${trialDir}/logs/agent/n-[redacted:TOKEN]`)).toBe("");
});
