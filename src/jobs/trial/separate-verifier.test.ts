import { expect, test } from "vitest";
import { giveReward, hang } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig, type RigOptions } from "../testing/job-rig.ts";

const separate = { verifier: { environment: "separate" } };

test("R16: a separate verifier runs in a fresh environment of the same image with the working directory copied over", async () => {
  const ids: string[] = [];
  let seen: unknown;
  const job = await runJobOnRig({
    config: separate,
    tasks: { one: { files: { "environment/Dockerfile": "FROM x\nWORKDIR /work\n" } } },
    script: {
      execute: (call) => {
        ids.push(call.environmentId);
        call.files.write("answer/a.txt", "42");
        call.files.write("/etc/planted.conf", "x");
        call.files.write("/usr/bin/pytest", "cheat");
        call.spawn("cheat");
        return 0;
      },
      test: (call) => {
        ids.push(call.environmentId);
        const { files, cwd, env } = call;
        const instruction = files.readText(env["ROLLOUT_TASK_INSTRUCTION"] ?? "");
        seen = [
          cwd,
          files.readText("answer/a.txt"),
          files.exists("/etc/planted.conf"),
          files.exists("/usr/bin/pytest"),
          instruction,
        ];
        return giveReward("1")(call);
      },
    },
  });
  expect(new Set(ids).size).toBe(2);
  expect(seen).toEqual(["/work", "42", false, false, "Do it.\n"]);
  expect(job.trial(onlyTrial)).toMatchObject({ reward: 1, error: null });
});

test.each([
  ["the job", { verifier: { environment: "separate", paths: ["/data", "/etc/app.conf", "/nowhere"] } }, ""],
  ["the task", {}, '[verifier]\nenvironment = "separate"\npaths = ["/data", "/etc/app.conf", "/nowhere"]\n'],
])(
  "R16: paths of %s name what the verifier gets, folders and files, and what is missing is warned about",
  async (_who, config, toml) => {
    let seen: unknown;
    const job = await runJobOnRig({
      config,
      tasks: { one: { toml } },
      script: {
        execute: ({ files }) => {
          files.write("/data/deep/a.txt", "A");
          files.write("/etc/app.conf", "B");
          files.write("/app/left.txt", "C");
          return 0;
        },
        test: (call) => {
          const { files } = call;
          seen = [files.readText("/data/deep/a.txt"), files.readText("/etc/app.conf"), files.exists("/app/left.txt")];
          return giveReward("1")(call);
        },
      },
    });
    expect(seen).toEqual(["A", "B", false]);
    expect(job.trial(onlyTrial).warnings).toEqual([
      expect.stringContaining("/nowhere does not exist after the agent ended"),
    ]);
    expect(job.tree().filter((path) => path.includes("transfer"))).toEqual([]);
  },
);

test("R16: the job's environment and paths win over the task's", async () => {
  const ids = new Set<string>();
  await runJobOnRig({
    config: { verifier: { environment: "shared" } },
    tasks: { one: { toml: '[verifier]\nenvironment = "separate"\n' } },
    onCall: ({ environmentId }) => void ids.add(environmentId),
  });
  expect(ids.size).toBe(1);
});

test("R18: the agent's logs come from its own environment and the verifier's from the fresh one", async () => {
  const job = await runJobOnRig({
    config: separate,
    script: {
      execute: ({ files }) => {
        files.write("/logs/agent/trace.txt", "agent");
        files.write("/logs/verifier/reward.txt", "1");
        return 0;
      },
      test: async (call) => {
        call.files.write("/logs/agent/trace.txt", "forged");
        call.files.write("/logs/verifier/report.txt", "tests");
        await call.stdout("testing\n");
        return giveReward("0")(call);
      },
    },
  });
  expect(job.trial(onlyTrial).reward).toBe(0);
  expect(job.text(`${onlyTrial}/logs/agent/trace.txt`)).toBe("agent");
  expect(job.text(`${onlyTrial}/logs/verifier/report.txt`)).toBe("tests");
  expect(job.text(`${onlyTrial}/logs/verifier/stdout.txt`)).toBe("testing\n");
});

test.each<[string, RigOptions["tasks"], string]>([
  ["times out", { one: { toml: "[verifier]\ntimeout_sec = 0.02\n" } }, "verifier_timeout"],
  ["exits non-zero", { one: {} }, "verifier_failed"],
])("R18: the logs of a separate verifier that %s are collected from its environment", async (_how, tasks, type) => {
  const job = await runJobOnRig({
    config: separate,
    ...(tasks && { tasks }),
    script: {
      execute: ({ files }) => {
        files.write("/logs/agent/trace.txt", "agent");
        return 0;
      },
      test: async (call) => {
        call.files.write("/logs/verifier/report.txt", "half done");
        await call.stderr("trying\n");
        return type === "verifier_timeout" ? hang(call) : 1;
      },
    },
  });
  expect(job.trial(onlyTrial).error?.type).toBe(type);
  expect(job.text(`${onlyTrial}/logs/agent/trace.txt`)).toBe("agent");
  expect(job.text(`${onlyTrial}/logs/verifier/report.txt`)).toBe("half done");
  expect(job.text(`${onlyTrial}/logs/verifier/stderr.txt`)).toBe("trying\n");
});

test("R24: agent logs that cannot be read cost a warning and not the reward", async () => {
  const job = await runJobOnRig({
    config: separate,
    script: {
      execute: ({ environment }) => {
        const { signal } = new AbortController();
        return environment.copyTo([{ kind: "remove", target: "/logs" }], signal).then(() => 0);
      },
    },
  });
  expect(job.trial(onlyTrial)).toMatchObject({ reward: 1, error: null, warnings: [expect.stringContaining("/logs")] });
});

test("R25: both environments are destroyed, and both are paid for", async () => {
  const destroyed: unknown[] = [];
  const job = await runJobOnRig({
    config: separate,
    pricePerHour: 3600,
    onEnvironment: (environment) => (environment.cost = () => 2),
    faults: ({ operation, environment }) => void (operation === "destroy" && destroyed.push(environment)),
  });
  expect(destroyed).toHaveLength(2);
  expect(new Set(destroyed).size).toBe(2);
  expect(job.trial(onlyTrial).cost).toBe(4);
});
