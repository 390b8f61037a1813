import { expect, test } from "vitest";
import { makeDockerRoom, plainTask } from "./docker-rig.ts";

// What a container loses together with its network.
const connected = "test -f /app/done -a -e /sys/class/net/eth0";

test("a check in containers tells tests that need the network from those that do not", async (context) => {
  const room = await makeDockerRoom(context);
  const online = { ...plainTask, test: `${connected}; echo $((! $?)) > /logs/verifier/reward.txt` };
  const unbuilt = { ...plainTask, toml: "", dockerfile: "FROM debian:bookworm-slim\nRUN exit 3\n" };
  await room.writeDockerJob({ good: plainTask, online, unbuilt });
  const running = room.startWords("check", "job.yaml", "-k", "2", "--name", "checked");
  const { code, stdout, stderr } = await running.ended;
  expect(code, stdout + stderr).toBe(1);
  expect(stdout).toMatch(/^unbuilt +– +– +broken$/m);
  expect(stdout).toMatch(/^online +2 of 2 +0 of 2 +needs the network$/m);
  expect(stdout).toMatch(/^good +2 of 2 +0 of 2 +ok$/m);
  expect(await room.containersOf(running.pid)).toEqual([]);
});
