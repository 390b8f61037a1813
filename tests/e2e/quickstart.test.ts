import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { openLocalRig } from "./local-rig.ts";
import { cannotRun, root } from "./rollout-cli.ts";

const rig = await openLocalRig();
const quickstart = (jobsDir: string): readonly string[] => [
  process.execPath,
  `${root}/scripts/quickstart.ts`,
  "--set",
  `jobs_dir=${jobsDir}`,
];

test("the quickstart runs nine trials, tells where the results are and what to type next", async () => {
  const room = await rig.makeRoom({});
  const { code, stdout, stderr } = await room.run([], { command: inCheckout(quickstart(room.path("jobs"))) });
  expect(code).toBe(0);
  expect(stdout).toMatch(/9 trials scored · 5 passed · 4 not passed[^]*results +\S+jobs[^]*next +rollout show/);
  expect(stderr).toContain("./bin/rollout");
});

test("where namespaces are refused and no engine answers, the quickstart names the step and the remedy", async (context) => {
  if (spawnSync("unshare", ["-U", "-r", "true"]).status !== 0) cannotRun(context, "no user namespace can be made here");
  const room = await rig.makeRoom({});
  const words = quickstart(room.path("jobs"))
    .map((word) => `'${word}'`)
    .join(" ");
  const refusing = `echo 0 > /proc/sys/user/max_user_namespaces; exec ${words}`;
  const { code, stderr } = await room.run([], {
    command: inCheckout(["unshare", "-U", "-r", "sh", "-c", refusing]),
    env: { DOCKER_HOST: `unix://${room.path("none.sock")}` },
  });
  expect(code).toBe(2);
  expect(stderr).toMatch(/cannot make a user namespace here[^]*user\.max_user_namespaces/);
});

function inCheckout(words: readonly string[]): readonly string[] {
  return ["sh", "-c", 'cd "$0" && exec "$@"', root, ...words];
}
