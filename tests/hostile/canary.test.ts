import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { base, makeDockerRoom } from "../e2e/docker-rig.ts";
import { openLocalRig } from "../e2e/local-rig.ts";
import { canaries, expectNoCanary, leakyScripts } from "./canary.ts";

const rig = await openLocalRig();

const job = {
  agents: [
    {
      name: "agent",
      env: { AGENT_KEY: "${AGENT_KEY}" },
      install: leakyScripts.install,
      execute: 'end=$(cat "$ROLLOUT_TASK_INSTRUCTION"); '.concat(leakyScripts.execute('eval "$end"')),
    },
  ],
  verifier: { env: { JUDGE_KEY: "${JUDGE_KEY}", BUILD_KEY: "${BUILD_KEY}" } },
  log_level: "debug",
  retry: { max_attempts: 1, initial_delay_ms: 1 },
};

const rewards = "echo 1 > /logs/verifier/reward.txt";
const builds = `RUN echo ${canaries.BUILD_KEY}; printf %s ${canaries.BUILD_KEY} | base64`;
const tasks = {
  passes: { instruction: "exit 0", test: leakyScripts.test(rewards) },
  "agent-fails": { instruction: 'echo "$key" >&2; exit 3', test: rewards },
  "test-fails": { instruction: "exit 0", test: leakyScripts.test('echo "$key" >&2; exit 3') },
  "writes-it-as-reward": { instruction: "exit 0", test: 'echo "$JUDGE_KEY" > /logs/verifier/reward.txt' },
  "is-apart": {
    toml: '[verifier]\nenvironment = "separate"\n',
    instruction: 'echo "$key" > file; exit 0',
    test: leakyScripts.test(rewards),
  },
};
const commands = [
  ["show", "jobs/job"],
  ["show", "jobs/job", "--json"],
  ["show", "jobs/job", "--tasks"],
  ["show", "jobs/job", "--failed"],
  ["list", "--json"],
  ["export", "jobs/job", "--csv", "-"],
  ["export", "jobs/job", "--jsonl", "-"],
  ["logs", "jobs/job", "agent/tasks/passes__1"],
  ...Object.keys(tasks).map((name) => ["show", `jobs/job/agent/tasks/${name}__1`]),
  ["status", "jobs/job"],
  ["verify", "jobs/job"],
];

describe("a value that leaks in every way is in no file, name or link of the job and in nothing that is printed", () => {
  test("on this machine, also when the sandbox is lost on the way", async () => {
    const lost = "[ -e /logs/agent/again ] || touch /logs/agent/again; echo waiting; sleep 4720";
    const room = await rig.makeRoom(
      {
        ...tasks,
        "is-built": { ...tasks.passes, dockerfile: `FROM debian\n${builds}\n` },
        "is-not-built": { ...tasks.passes, dockerfile: `FROM debian\n${builds} >&2; exit 3\n` },
        "is-lost": { ...tasks.passes, instruction: lost },
      },
      job,
    );
    const running = room.start(["job.yaml", "--json=events", "--store", "jobs/store.db"], { env: canaries });
    const killed = new Set<string>();
    const isWaiting = (id: string): boolean =>
      !killed.has(id) && existsSync(join(rig.environmentDir(id), "disk/volumes/logs/agent/again"));
    for (let round = 1; round <= 2; round++) {
      await running.until(`try ${round} waits`, () => rig.environments().some(isWaiting));
      const id = rig.environments().find(isWaiting) ?? "";
      killed.add(id);
      process.kill(rig.record(id).first?.pid ?? 0, "SIGKILL");
    }
    const { code, stdout, stderr } = await running.ended;
    expect(code).toBe(3);
    const said = await Promise.all(commands.map((words) => room.run(words)));
    expectNoCanary(room.path("jobs"), [stdout, stderr, ...said.flatMap((one) => [one.stdout, one.stderr])]);
    expect(existsSync(room.path("jobs/job/agent/tasks/is-lost__1/retries/1/command/stdout.txt"))).toBe(true);
    expect(await room.read("jobs/job/agent/tasks/passes__1/command/stdout.txt")).toContain("[redacted:AGENT_KEY]");
    const { error } = await room.trial("agent/tasks/writes-it-as-reward__1");
    expect(error).toMatchObject({ type: "verifier_reward_invalid", cause: "agent" });
    expect((await room.trial("agent/tasks/writes-it-as-reward__1")).untrusted).toEqual([]);
  });

  test("in containers, with the value of a build argument too", async (context) => {
    const room = await makeDockerRoom(context, canaries);
    const toml = `[environment]\ndocker_image = "${base}"\n`;
    const plain = Object.entries(tasks).map(([name, task]) => [
      name,
      { dockerfile: null, solution: null, ...task, toml: toml + ("toml" in task ? task.toml : "") },
    ]);
    const dockerfile = (end: string): string =>
      `FROM ${base}\nARG BUILD_KEY\nRUN echo "$BUILD_KEY"; printf %s "$BUILD_KEY" | base64; ${end}\n`;
    await room.writeDockerJob(
      {
        ...Object.fromEntries(plain),
        "is-built": { ...tasks.passes, solution: null, dockerfile: dockerfile("true") },
        "is-not-built": { ...tasks.passes, solution: null, dockerfile: dockerfile("exit 3") },
      },
      {
        ...job,
        environment: { type: "docker", provider_config: { build: { args: { BUILD_KEY: "${BUILD_KEY}" } } } },
      },
    );
    const { code, stdout, stderr } = await room.runJob("--json=events");
    expect(code, stderr).toBe(3);
    const said = await Promise.all(commands.map((words) => room.startWords(...words).ended));
    expectNoCanary(room.path("jobs"), [stdout, stderr, ...said.flatMap((one) => [one.stdout, one.stderr])]);
    expect(await room.read("jobs/job/agent/tasks/passes__1/command/stdout.txt")).toContain("[redacted:AGENT_KEY]");
  });
});
