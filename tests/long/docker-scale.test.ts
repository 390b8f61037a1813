import { mkdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { engineVariables, makeDockerRoom, plainTask } from "../e2e/docker-rig.ts";

const many = 200;
const patienceMs = 1_800_000;

test(`${many} containers in flight use up neither addresses nor descriptors`, async (context) => {
  const room = await makeDockerRoom(context);
  await mkdir(room.path("gate"));
  // All are there at once before the first may end.
  const execute = "while [ ! -e /gate/open ]; do sleep 1; done; mkdir -p /app; touch /app/done";
  await room.writeDockerJob(
    { a: { ...plainTask, toml: plainTask.toml?.replace("256Mi", "64Mi") } },
    {
      agents: [{ name: "agent", execute }],
      n_attempts: many,
      n_concurrent_trials: many,
      timeout_multiplier: 5,
      environment: { type: "docker", provider_config: { mounts: [{ source: "./gate", target: "/gate" }] } },
    },
  );
  const running = room.start(["job.yaml"], { env: engineVariables(), patienceMs });
  await running.until("all containers are there", async () => {
    await sleep(1000);
    return (await room.containersOf(running.pid)).length >= many;
  });
  await room.write("gate/open", "");
  const { code, stderr } = await running.ended;
  expect(code, stderr).toBe(0);
  expect(await room.jobResult()).toMatchObject({ completed_trials: many, failed_trials: 0, pass_rate: 1, errors: {} });
  expect((await room.jobResult()).warnings.join()).toContain(`${many} trials at once may use`);
  expect(await room.containersOf(running.pid)).toEqual([]);
});
