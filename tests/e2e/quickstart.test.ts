import { spawnSync } from "node:child_process";
import { describe, expect, test, type TestContext } from "vitest";
import { findEngines } from "../engines/find-engines.ts";
import { openLocalRig } from "./local-rig.ts";
import { cannotRun, root, type Ended, type Room } from "./rollout-cli.ts";

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
  expect(stdout).toMatch(/9 trials · 5 passed · 4 not passed[^]*results +\S+jobs[^]*next +rollout show/);
  expect(stderr).toContain("./bin/rollout");
});

describe("where namespaces are refused", () => {
  test("and no engine answers, the quickstart names the step and the remedy", async (context) => {
    const { code, stderr } = await runRefused(context, (room) => `unix://${room.path("none.sock")}`);
    expect(code).toBe(2);
    expect(stderr).toMatch(/cannot make a user namespace here[^]*user\.max_user_namespaces/);
  });

  test("and an engine answers, the quickstart uses it", async (context) => {
    const docker = (await findEngines()).find(({ name }) => name === "docker");
    if (!docker || docker.reason !== null) cannotRun(context, docker?.reason ?? "there is no Docker engine");
    const { code, stdout, stderr } = await runRefused(
      context,
      () => process.env["DOCKER_HOST"] ?? "unix:///var/run/docker.sock",
    );
    expect(code, stderr).toBe(0);
    expect(stderr).toMatch(/cannot make a user namespace here[^]*A Docker engine answers/);
    expect(stdout).toContain("9 trials · 5 passed · 4 not passed");
  });
});

async function runRefused(context: TestContext, dockerHost: (room: Room) => string): Promise<Ended> {
  if (spawnSync("unshare", ["-U", "-r", "true"]).status !== 0) cannotRun(context, "no user namespace can be made here");
  const room = await rig.makeRoom({});
  const words = quickstart(room.path("jobs"))
    .map((word) => `'${word}'`)
    .join(" ");
  const refusing = `echo 0 > /proc/sys/user/max_user_namespaces; exec ${words}`;
  const command = inCheckout(["unshare", "-U", "-r", "sh", "-c", refusing]);
  return room.run([], { command, env: { DOCKER_HOST: dockerHost(room) } });
}

function inCheckout(words: readonly string[]): readonly string[] {
  return ["sh", "-c", 'cd "$0" && exec "$@"', root, ...words];
}
