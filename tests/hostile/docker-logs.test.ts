import { statSync } from "node:fs";
import { expect, test } from "vitest";
import { base, makeDockerRoom } from "../e2e/docker-rig.ts";

test("sparse files of a terabyte in a container cost neither disk nor the reward, wherever they lie", async (context) => {
  const room = await makeDockerRoom(context);
  const toml = `[environment]\ndocker_image = "${base}"\n`;
  const bombs = "truncate -s 1T a-bomb z-bomb; echo plain > plain";
  const test = `cd /logs/verifier; ${bombs}; echo 1 > reward.txt`;
  const common = { dockerfile: null, solution: null, instruction: "x" };
  await room.writeDockerJob(
    {
      shared: { ...common, toml, test },
      apart: { ...common, toml: `${toml}[verifier]\nenvironment = "separate"\npaths = ["/app"]\n`, test },
    },
    { agents: [{ name: "agent", execute: `mkdir -p /app; for d in /app /logs/agent; do cd $d; ${bombs}; done` }] },
  );
  const { code, stderr } = await room.runJob();
  expect(code, stderr).toBe(0);
  for (const name of ["shared", "apart"]) {
    const { reward, warnings } = await room.trial(`agent/tasks/${name}__1`);
    expect(reward).toBe(1);
    expect(warnings.filter((warning) => warning.includes("bomb")).length).toBeGreaterThan(1);
    expect(await room.read(`jobs/job/agent/tasks/${name}__1/logs/verifier/reward.txt`)).toBe("1\n");
  }
  const { warnings } = await room.trial("agent/tasks/apart__1");
  expect(warnings).toContainEqual(expect.stringMatching(/^\/app\/.-bomb did not reach the verifier: /));
  let bytes = 0;
  for (const file of await room.files("jobs")) bytes += statSync(room.path("jobs", file)).blocks * 512;
  expect(bytes).toBeLessThan(10 << 20);
});
