import { describe, expect, test } from "vitest";
import { RolloutError } from "../../base/rollout-error.ts";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { giveReward } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig, startJob, type RigOptions } from "../testing/job-rig.ts";
import { until } from "../testing/until.ts";

const path = `${onlyTrial}/changes.txt`;
const writes: RigOptions["script"] = {
  execute: ({ files }) => {
    files.write(`/app/made.txt`, "by the agent\n");
    return 0;
  },
};

describe("changes.txt", () => {
  test("lists what the agent changed, and nothing of the tests", async () => {
    const job = await runJobOnRig({
      script: {
        ...writes,
        test: (call) => {
          call.files.write(`/app/by-the-tests.txt`, "x");
          return giveReward("1")(call);
        },
      },
    });
    expect(job.text(path)).toBe(
      "1 added, 0 changed, 0 removed in /app\n\nadded    made.txt (13 bytes)\n\n--- a/made.txt\n+++ b/made.txt\n@@ -0,0 +1,1 @@\n+by the agent\n",
    );
    expect(job.trial(onlyTrial)).toMatchObject({ reward: 1, warnings: [] });
  });

  test("is not written if nothing changed, or if the provider cannot tell", async () => {
    expect((await runJobOnRig()).has(path)).toBe(false);
    expect((await runJobOnRig({ script: writes, capabilities: { changes: false } })).has(path)).toBe(false);
  });

  test("is written for an agent that failed or ran out of time, and without a verifier", async () => {
    const failed = await runJobOnRig({ script: { execute: (call) => (void writes.execute?.(call), 1) } });
    expect(failed.text(path)).toContain("made.txt");
    const late = await runJobOnRig({
      tasks: { one: { toml: 'version = "1.0"\n[agent]\ntimeout_sec = 0.05\n' } },
      script: {
        execute: async (call) => {
          void writes.execute?.(call);
          await new Promise(() => {});
          return 0;
        },
      },
    });
    expect(late.trial(onlyTrial)).toMatchObject({ error: { type: "agent_execution_timeout" } });
    expect(late.text(path)).toContain("made.txt");
    const unverified = await runJobOnRig({ script: writes, config: { verifier: { disable: true } } });
    expect(unverified.text(path)).toContain("made.txt");
  });

  test("a listing that fails or hangs is a warning, and the trial has its reward", async () => {
    const failing = await runJobOnRig({
      script: writes,
      faults: ({ operation }) => {
        if (operation === "changes") throw new RolloutError("exec_failed", "no list today");
      },
    });
    expect(failing.trial(onlyTrial)).toMatchObject({
      reward: 1,
      error: null,
      warnings: ["changes.txt was not written: no list today"],
    });
    const clock = new FakeClock();
    let isListing = false;
    const hanging = startJob({
      clock,
      script: writes,
      faults: ({ operation }) => {
        if (operation !== "changes") return undefined;
        isListing = true;
        return new Promise(() => {});
      },
    });
    await until(() => isListing);
    await clock.advance(10_000);
    const finished = await hanging.finished;
    expect(finished.trial(onlyTrial)).toMatchObject({ reward: 1, error: null });
    expect(finished.trial(onlyTrial).warnings).toEqual([expect.stringMatching(/^changes\.txt was not written/)]);
    expect(finished.has(path)).toBe(false);
  });

  test("holds no secret of the job", async () => {
    const job = await runJobOnRig({
      env: { AGENT_KEY: "a-secret-value-of-some-length" },
      config: { agents: [{ name: "a", execute: "work", env: { AGENT_KEY: "${AGENT_KEY}" } }] },
      script: {
        execute: ({ files, env }) => {
          files.write(`/app/key-${env["AGENT_KEY"]}`, `${env["AGENT_KEY"]}\n`);
          return 0;
        },
      },
    });
    expect(job.text(path)).not.toContain("a-secret-value");
    expect(job.text(path)).toContain("+[redacted:AGENT_KEY]");
  });
});
