import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { makeRoom, scriptedShell, type Room } from "./rollout-cli.ts";

const memoryWith = (handler: string): string[] => [
  "--environment",
  "memory",
  "--set",
  `environment.provider_config.handler=${handler}`,
];
const memory = memoryWith(scriptedShell);
const faultyProvider = fileURLToPath(new URL("./faulty-provider.ts", import.meta.url));
// Its variables are shared by all trials: the second test of the oracle's work fails, whenever it comes.
const moodyTests = `
let seen = 0;
export function handler({ command, files }) {
  if (command[1].endsWith("solve.sh")) files.write("/done", "");
  else files.write("/logs/verifier/reward.txt", files.exists("/done") && ++seen !== 2 ? "1" : "0");
  return 0;
}
`;

describe("where the network cannot be taken away", () => {
  test("that is said, and the verdicts stand", async () => {
    const room = await makeTask({ test: "reward 1" });
    const { code, stdout } = await room.run(["check", "tasks", "--times", "1", ...memory]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^my-task +1 of 1 +1 of 1 +passes untouched$/m);
    expect(stdout).toContain('whether tests need the network was not looked at: environment "memory" cannot');
  });
});

test("tests that pass only sometimes are flaky, with how often they passed", async () => {
  const room = await makeTask({});
  await room.write("moody.mjs", moodyTests);
  const { code, stdout, stderr } = await room.run(["check", "tasks", "-k", "4", ...memoryWith(room.path("moody.mjs"))]);
  expect(code, stderr).toBe(1);
  expect(stdout).toMatch(/^my-task +3 of 4 +0 of 4 +flaky \(oracle\)$/m);
  expect(stdout).toContain("oracle passed 3 of 4, and else: reward 0");
});

describe("the exit code", () => {
  test("is 130 after SIGINT, and what is known is told", async () => {
    const room = await makeTask({ test: "wait" });
    await room.writeTask("tasks/invalid", { toml: "[agent]\ntimeout_sec = 0\n" });
    const running = room.start(["check", "tasks", ...memory, "--name", "cut"]);
    await running.until("it waits", () => existsSync(room.path("jobs/cut/oracle/tasks/my-task__1/logs")));
    running.kill("SIGINT");
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(130);
    expect(stderr).toContain("SIGINT: stopping the running trials");
    expect(stdout).toMatch(/^invalid .* broken$/m);
    expect(stdout).toMatch(/^my-task .* not judged: stopped before its end$/m);
  });

  test("is 3 when only infrastructure kept tasks from being judged", async () => {
    const room = await makeTask({ test: "reward 1", toml: "[environment]\nbuild_timeout_sec = 2\n" });
    const faulty = [
      "--environment",
      faultyProvider,
      "--set",
      "environment.provider_config={hang: create, obeys: true}",
    ];
    const { code, stdout, stderr } = await room.run(["check", "tasks", "-k", "1", ...faulty]);
    expect(code, stdout + stderr).toBe(3);
    expect(stdout).toMatch(/^my-task .* not judged: infrastructure$/m);
    expect(stdout).toContain("0 of 2 attempts could be judged; environment_start_failed");
  });

  test("is 4 when the budget ended it and no task is known to be at fault", async () => {
    const room = await makeTask({ solution: 'write /logs/agent/usage.json {"cost_usd": 2}', test: "reward 1" });
    const spent = ["--set", "budget.cost_usd=1", "--concurrency", "1"];
    const { code, stdout } = await room.run(["check", "tasks/my-task", "-k", "1", ...memory, ...spent]);
    expect(code).toBe(4);
    expect(stdout).toMatch(/^my-task +1 of 1 +– +not judged: never run$/m);
  });

  test("is 2 when nothing can be checked, and nothing was started", async () => {
    const room = await makeTask({ test: "reward 1" });
    await room.write("job.yaml", "agents: [{ name: nop }]\ndatasets: [{ path: tasks }]\nverifier: { disable: true }\n");
    const wrong = [
      ["check", "nowhere"],
      ["check", "tasks", "job.yaml"],
      ["check", "job.yaml"],
      ["check", "tasks", "-k", "0"],
    ];
    const ends = await Promise.all(wrong.map((words) => room.run([...words, ...memory])));
    expect(ends.map(({ code }) => code)).toEqual([2, 2, 2, 2]);
    expect(ends[2]?.stderr).toContain("verifier.disable");
    expect(existsSync(room.path("jobs"))).toBe(false);
  });

  test("is 2 when the second job's directory is taken, before the first one starts", async () => {
    const room = await makeTask({ test: "reward 1" });
    await room.write("jobs/mine-no-network/note", "");
    const { code, stderr } = await room.run(["check", "tasks", "--name", "mine", ...memory]);
    expect(code).toBe(2);
    expect(stderr).toContain("mine-no-network already exists");
    expect(existsSync(room.path("jobs/mine"))).toBe(false);
  });
});

async function makeTask(options: Parameters<Room["writeTask"]>[1]): Promise<Room> {
  const room = await makeRoom();
  await room.writeTask("tasks/my-task", options);
  return room;
}
