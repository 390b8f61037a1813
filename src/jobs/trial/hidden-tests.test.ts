import { expect, test } from "vitest";
import { giveReward } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig } from "../testing/job-rig.ts";

test("R14: the tests reach the environment only after the agent has ended", async () => {
  const seen: unknown[] = [];
  await runJobOnRig({
    config: { agents: [{ name: "a", install: "i", execute: "e" }] },
    script: {
      install: ({ files }) => seen.push("install", files.exists("/tests")) * 0,
      execute: ({ files }) => seen.push("execute", files.exists("/tests")) * 0,
      test: (call) => {
        seen.push("test", call.files.exists("/tests/test.sh"));
        return giveReward("1")(call);
      },
    },
  });
  expect(seen).toEqual(["install", false, "execute", false, "test", true]);
});

test("R14: what the agent put in /tests is replaced, not merged into", async () => {
  let names: string[] = [];
  await runJobOnRig({
    tasks: { one: { files: { "tests/data/expected.txt": "1" } } },
    script: {
      execute: ({ files }) => {
        files.write("/tests/test.sh", "echo 1 > /logs/verifier/reward.txt");
        files.write("/tests/conftest.py", "cheat()");
        files.write("/tests/data/planted.txt", "x");
        return 0;
      },
      test: (call) => {
        names = [...call.files.list("/tests"), ...call.files.list("/tests/data")];
        return giveReward("0")(call);
      },
    },
  });
  expect(names).toEqual(["data", "test.sh", "expected.txt"]);
});

test("R14: what the image or another agent left in /oracle is replaced", async () => {
  let names: string[] = [];
  await runJobOnRig({
    config: { agents: [{ name: "oracle" }] },
    tasks: { one: { files: { "solution/solve.sh": "true" } } },
    onEnvironment: (environment) => {
      const { signal } = new AbortController();
      void environment.copyTo([{ kind: "file", content: "old", target: "/oracle/old.txt", mode: 0o644 }], signal);
    },
    script: {
      solve: ({ files }) => {
        names = files.list("/oracle");
        return 0;
      },
    },
  });
  expect(names).toEqual(["solve.sh"]);
});

test("R14: both log folders are there before the agent's first script", async () => {
  let logs: string[] = [];
  await runJobOnRig({
    config: { agents: [{ name: "a", install: "i", execute: "e" }] },
    script: {
      install: ({ files }) => {
        logs = files.list("/logs");
        return 0;
      },
    },
  });
  expect(logs).toEqual(["agent", "verifier"]);
});

test("R14: a reward that the agent wrote ahead does not count", async () => {
  const job = await runJobOnRig({
    script: {
      execute: ({ files }) => {
        files.write("/logs/verifier/reward.txt", "1");
        files.write("/logs/agent/notes.txt", "kept");
        return 0;
      },
      test: () => 0,
    },
  });
  expect(job.trial(onlyTrial)).toMatchObject({ reward: null, error: { type: "verifier_reward_missing" } });
  expect(job.text(`${onlyTrial}/logs/agent/notes.txt`)).toBe("kept");
});

test("R14: the scripts we brought are gone before the tests run", async () => {
  let hasScratch = true;
  await runJobOnRig({
    script: {
      test: (call) => {
        hasScratch = call.files.exists("/tmp/.rollout");
        return giveReward("1")(call);
      },
    },
  });
  expect(hasScratch).toBe(false);
});
