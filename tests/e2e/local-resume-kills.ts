import { createHash } from "node:crypto";
import { eventually, rewarding, type LocalRig } from "./local-rig.ts";
import { resumeAfterKills } from "./resume-after-kills.ts";
import { seededRandom } from "../../src/base/seeded-random.ts";

/** Kills and resumes jobs on this machine so many times; their trials pass, fall short, fail and leave daemons. */
export async function resumeLocalKills(rig: LocalRig, kills: number, seed: number): Promise<void> {
  const daemon = "(setsid bash -c \"trap '' TERM HUP INT; sleep 4717\" >/dev/null 2>&1 &)";
  const room = await rig.makeRoom(
    {
      passes: { instruction: `${daemon}; sleep 0.05` },
      half: { test: rewarding(0.5), dockerfile: `FROM debian\nRUN echo ${seed}; sleep 0.05\n` },
      fails: { instruction: "[ $1 = install ] || exit 3" },
      unmarked: { test: "echo nothing" },
    },
    { n_attempts: 2, n_concurrent_trials: 3 },
  );
  await resumeAfterKills({
    room,
    start: (args) => room.start(args),
    random: seededRandom(seed),
    kills,
    async left(_pids, runIds) {
      await eventually("no process is left", () => rig.processes());
      const ids = runIds.map((run) => `local-rollout-${createHash("sha256").update(run).digest("hex").slice(0, 10)}`);
      return [...rig.environments(), ...rig.debris(), ...rig.mountsAndGroups(ids)];
    },
  });
}
