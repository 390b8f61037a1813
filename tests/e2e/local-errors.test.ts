import { describe, expect, test } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import { causeOf, failureTypes, type FailureType } from "../../src/jobs/trial/failure.ts";
import { openLocalRig, rewarding } from "./local-rig.ts";
import type { TaskOptions } from "./rollout-cli.ts";

const rig = await openLocalRig();

interface Case extends TaskOptions {
  readonly type: FailureType;
  readonly message: RegExp;
  readonly cause?: "infrastructure";
}

const cases: Readonly<Record<string, Case>> = {
  "other-stage": {
    type: "task_invalid",
    dockerfile: "FROM debian\nCOPY --from=golang:1 /usr/local/go /go\n",
    message: /line 2.*--from/s,
  },
  "step-fails": {
    type: "environment_build_failed",
    dockerfile: "FROM debian\nRUN echo compiling; echo no such header >&2; exit 7\n",
    message:
      /^Dockerfile line 2: RUN .* ended with exit code 7; it last printed:\ncompiling\nno such header\n\(replayed on /,
  },
  "step-hangs": {
    type: "environment_build_timeout",
    toml: "[environment]\nbuild_timeout_sec = 1.5\n",
    dockerfile: "FROM debian\nRUN setsid sleep 4711 & trap '' TERM; sleep 4711\n",
    message: /^image build exceeded its limit of 1\.5 seconds$/,
  },
  "starts-too-slowly": {
    type: "environment_start_failed",
    toml: "[environment]\nbuild_timeout_sec = 0.001\n",
    message: /^starting the environment exceeded its limit of 0\.001 seconds$/,
    cause: "infrastructure",
  },
  "install-fails": {
    type: "agent_install_failed",
    instruction: "echo no network >&2; [ $1 != install ]",
    message: /^agent install exited with code 1; it last printed:\nno network$/,
  },
  "install-hangs": {
    type: "agent_install_timeout",
    toml: "[agent]\ninstall_timeout_sec = 0.5\n",
    instruction: "[ $1 != install ] || sleep 4711",
    message: /^agent install exceeded its limit of 0\.5 seconds$/,
  },
  "agent-fails": {
    type: "agent_execution_failed",
    instruction: "[ $1 = install ] || { echo giving up; exit 3; }",
    message: /^agent execution exited with code 3; it last printed:\ngiving up$/,
  },
  "agent-is-not-there": {
    type: "agent_execution_failed",
    instruction: "[ $1 = install ] || no-such-agent",
    message: /^agent execution exited with code 127 \(command not found\); it last printed:\n.*no-such-agent/,
  },
  "agent-hangs": {
    type: "agent_execution_timeout",
    toml: "[agent]\ntimeout_sec = 0.5\n",
    instruction: "[ $1 = install ] || { echo working; sleep 4711; }",
    message: /^agent execution exceeded its limit of 0\.5 seconds$/,
  },
  "tests-fail": {
    type: "verifier_failed",
    test: `${rewarding(1)}; echo assertion; exit 1`,
    message: /^the test script exited with code 1; it last printed:\nassertion$/,
  },
  "tests-hang": {
    type: "verifier_timeout",
    toml: "[verifier]\ntimeout_sec = 0.5\n",
    test: `${rewarding(1)}; sleep 4711`,
    message: /^the verifier exceeded its limit of 0\.5 seconds$/,
  },
  "no-reward": {
    type: "verifier_reward_missing",
    instruction: rewarding(1),
    test: "true",
    message: /wrote no \/logs\/verifier\/reward\.txt$/,
  },
  "no-number": {
    type: "verifier_reward_invalid",
    test: "echo passed > /logs/verifier/reward.txt",
    message: /reward\.txt holds "passed\\n"; expected one finite number/,
  },
  "reward-by-link": {
    type: "verifier_reward_invalid",
    test: "echo 1 > /tmp/one; ln -s /tmp/one /logs/verifier/reward.txt",
    message: /reward\.txt was not taken: .*link/,
  },
};

// It pulls no image, we know of no way to a bug, and the last is proved where jobs are interrupted.
const others: readonly FailureType[] = ["environment_image_pull_failed", "internal_error", "trial_cancelled"];
// Below, and where limits are.
const elsewhere: readonly FailureType[] = [
  "task_not_found",
  "environment_resource_allocation_failed",
  "environment_teardown_failed",
];

describe("every error that a trial on this machine can end with", () => {
  test("is one of these", () => {
    const types = [...Object.values(cases).map(({ type }) => type), ...elsewhere, ...others];
    expect([...new Set(types)].sort()).toEqual([...failureTypes].sort());
  });

  test("is recorded with its type, its reason and its logs, and the job exits with 3", async () => {
    const room = await rig.makeRoom({ ...cases, fine: {} }, { n_concurrent_trials: 6 });
    const { code, stdout } = await room.run(["job.yaml", "--json"]);
    expect(code).toBe(3);
    const { result } = JSON.parse(stdout) as { result: JobResultFile };
    expect(result).toMatchObject({ completed_trials: 1, failed_trials: Object.keys(cases).length, skipped_trials: 0 });
    for (const [name, { type, message, cause = causeOf({ type, cause: null }) }] of Object.entries(cases)) {
      const { error, reward, tries, environment } = await room.trial(`agent/tasks/${name}__1`);
      expect({ name, type: error?.type, cause: error?.cause, reward, tries }).toEqual({
        name,
        type,
        cause,
        reward: null,
        tries: 1,
      });
      expect(error?.message).toMatch(message);
      expect(await room.read(`jobs/job/agent/tasks/${name}__1/error.txt`)).toMatch(new RegExp(`^${type}\n`));
      const isStarted = !/^(task|environment)_/.test(type);
      expect(environment !== null, `${name} had an environment`).toBe(isStarted);
    }
    expect(await room.read("jobs/job/agent/tasks/agent-hangs__1/command/stdout.txt")).toBe("working\n");
    expect(await room.trial("agent/tasks/fine__1")).toMatchObject({ reward: 1, error: null });
    const built = (await room.files("jobs/job/.rollout/images")).filter((file) => file.endsWith("/build.log"));
    const logs = await Promise.all(built.map((file) => room.read(`jobs/job/.rollout/images/${file}`)));
    expect(logs.join("")).toContain("no such header");
    expect(rig.environments()).toEqual([]);
  });

  test("a shell that the image lacks is the task's, and a disk that the agent filled is the agent's", async () => {
    const toml = '[environment]\nmemory = "1G"\nstorage = "50M"\n';
    const room = await rig.makeRoom(
      {
        "no-shell": { dockerfile: "FROM debian\nRUN rm -f /bin/bash /usr/bin/bash\n" },
        "no-room": {
          toml,
          instruction: "[ $1 = install ] || head -c 200M /dev/zero > big || true",
          test: `head -c 200K /dev/zero > notes && ${rewarding(1)}`,
        },
      },
      { environment: { type: "local", provider_config: { storage: "memory" } } },
    );
    await room.run(["job.yaml"]);
    const { error: shell } = await room.trial("agent/tasks/no-shell__1");
    expect(shell).toMatchObject({ type: "environment_start_failed", cause: "task" });
    expect(shell?.message).toContain("no bash that runs");
    const { error: disk } = await room.trial("agent/tasks/no-room__1");
    expect(disk).toMatchObject({ cause: "agent" });
    expect(disk?.type).toMatch(/^verifier_/);
    expect(disk?.message).toMatch(/^the agent had left \d+ bytes of its 50M of storage to the tests/);
  });

  test("task_not_found: its repository is not there", async () => {
    const room = await rig.makeRoom({});
    const tasks = [{ name: "x", git_url: `file://${room.path("no-repository")}`, path: "x" }];
    await room.write("registry.json", JSON.stringify([{ name: "set", tasks }]));
    await room.writeJob({
      environment: { type: "local" },
      agents: [{ name: "nop" }],
      datasets: [{ registry: { path: "." }, name: "set" }],
    });
    expect(await room.run(["job.yaml"])).toMatchObject({ code: 3 });
    expect((await room.trial("nop/set/x__1")).error?.type).toBe("task_not_found");
  });

  test("files that cannot be put in place are environment_start_failed", async () => {
    const room = await rig.makeRoom(
      { one: {} },
      { instruction_path: "/proc/instruction.md", retry: { max_attempts: 0 } },
    );
    expect(await room.run(["job.yaml"])).toMatchObject({ code: 3 });
    expect((await room.trial("agent/tasks/one__1")).error).toMatchObject({
      type: "environment_start_failed",
      message: expect.stringContaining("/proc"),
    });
  });
});
