import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually, openLocalRig, rewarding } from "../e2e/local-rig.ts";
import { seededRandom } from "../../src/base/seeded-random.ts";

const rig = await openLocalRig();
const rounds = 60;
const seed = 20_260_115;
// A number that no other test's Dockerfile has, so that its control groups can be told from theirs.
const buildLine = 4716;

test("a job that is killed at any moment leaves no process, and the next one removes all that it left", async () => {
  const random = seededRandom(seed);
  const daemon = "(setsid bash -c \"trap '' TERM HUP INT; sleep 4715\" >/dev/null 2>&1 &)";
  const moments: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const dockerfile = `FROM debian${"\n".repeat(buildLine - 1)}RUN echo ${seed} ${round}; sleep 0.1\n`;
    const task = { dockerfile, instruction: `${daemon}; sleep 0.1`, test: `${daemon}; ${rewarding(1)}` };
    const room = await rig.makeRoom({ a: task, b: {}, c: {} }, { n_attempts: 3, environment: networks[round % 2] });
    const running = room.start(["job.yaml", "-q"]);
    const momentMs = Math.floor(random() * 1600);
    moments.push(momentMs);
    await sleep(momentMs);
    running.kill("SIGKILL");
    const { signal } = await running.ended;
    await eventually(`round ${round}, ${momentMs} ms: no process is left`, () => rig.processes());
    await rig.startAgain();
    const { run_id: run = "none" } = await room
      .readJson<{ run_id?: string }>("jobs/job/.rollout/lock.json")
      .catch(() => ({ run_id: "none" }));
    const prefixes = [
      `local-rollout-${createHash("sha256").update(run).digest("hex").slice(0, 10)}`,
      `local-build-${buildLine}-`,
    ];
    const left = [...rig.environments(), ...rig.debris(), ...rig.mountsAndGroups(prefixes)];
    expect(left, `round ${round}, ${momentMs} ms, ${signal ?? "ended before"}`).toEqual([]);
    for (const file of (await room.files("jobs/job")).filter((name) => name.endsWith("__1/result.json")))
      expect(await room.readJson(`jobs/job/${file}`)).toMatchObject({ reward: 1, error: null });
  }
  console.log(`killed ${rounds} times after ${Math.min(...moments)} to ${Math.max(...moments)} ms`);
});

const networks = [{ type: "local" }, { type: "local", network: { agent: "none", verifier: "full" } }];
