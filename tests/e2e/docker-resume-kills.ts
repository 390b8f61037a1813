import type { TestContext } from "vitest";
import { makeDockerRoom, plainTask } from "./docker-rig.ts";
import { resumeAfterKills } from "./resume-after-kills.ts";
import { seededRandom } from "../../src/base/seeded-random.ts";

/** Kills and resumes jobs in containers so many times. */
export async function resumeDockerKills(context: TestContext, kills: number, seed: number): Promise<void> {
  const room = await makeDockerRoom(context);
  await room.writeDockerJob(
    {
      passes: plainTask,
      half: { ...plainTask, test: "echo 0.5 > /logs/verifier/reward.txt" },
      fails: { ...plainTask, solution: "exit 3" },
    },
    { n_concurrent_trials: 2 },
  );
  await resumeAfterKills({
    room,
    // The room names the job file itself.
    start: (args) => room.startJob(...args.slice(1)),
    random: seededRandom(seed),
    kills,
    left: async (pids) => (await Promise.all(pids.map((pid) => room.containersOf(pid)))).flat(),
  });
}
