import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { giveReward, hang, type Act, type JobScript } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig, startJob } from "../testing/job-rig.ts";
import { until } from "../testing/until.ts";

describe("what the scripts print", () => {
  test("R18: every script's output is in its own folder, stdout and stderr apart", async () => {
    const print = (name: string, then: Act = () => 0): Act => {
      return async (call) => {
        await call.stdout(`${name} out\n`);
        await call.stderr(`${name} err\n`);
        return then(call);
      };
    };
    const job = await runJobOnRig({
      config: { agents: [{ name: "a", install: "i", execute: "e" }] },
      script: { install: print("install"), execute: print("execute"), test: print("test", giveReward("1")) },
    });
    for (const [folder, name] of [
      ["setup", "install"],
      ["command", "execute"],
      ["logs/verifier", "test"],
    ]) {
      expect(job.text(`${onlyTrial}/${folder}/stdout.txt`)).toBe(`${name} out\n`);
      expect(job.text(`${onlyTrial}/${folder}/stderr.txt`)).toBe(`${name} err\n`);
    }
  });

  test("R18: it is in its file while the script still runs", async () => {
    const sizes: number[] = [];
    await runJobOnRig({
      script: {
        execute: async ({ stdout, trialDir }) => {
          const path = join(trialDir, "command", "stdout.txt");
          for (const line of ["one\n", "two\n", "three\n"]) {
            await stdout(line);
            const before = sizes.at(-1) ?? 0;
            await until(() => readFileSync(path).length > before);
            sizes.push(readFileSync(path).length);
          }
          return 0;
        },
      },
    });
    expect(sizes).toEqual([4, 8, 14]);
  });

  test("R18: a stream over output_limit keeps its first and last half, tells what was cut, and is warned about", async () => {
    const job = await runJobOnRig({
      config: { output_limit: 20 },
      script: {
        execute: async ({ stdout, stderr }) => {
          for (let n = 0; n < 10; n++) await stdout(`line ${n}...\n`);
          await stderr("exactly twenty bytes");
          return 0;
        },
      },
    });
    const text = job.text(`${onlyTrial}/command/stdout.txt`);
    expect(text).toMatch(/^line 0\.\.\.\n\n\[rollout: 80 bytes were cut here; .*\]\nline 9\.\.\.\n$/);
    expect(job.text(`${onlyTrial}/command/stderr.txt`)).toBe("exactly twenty bytes");
    expect(job.trial(onlyTrial).warnings).toEqual([
      expect.stringMatching(/^command\/stdout\.txt had 100 bytes; 80 .*cut/),
    ]);
    expect(job.trial(onlyTrial).reward).toBe(1);
  });

  test("R18: files of these names that test.sh wrote itself are kept beside ours", async () => {
    const job = await runJobOnRig({
      script: {
        test: async (call) => {
          call.files.write("/logs/verifier/stdout.txt", "theirs\n");
          call.files.write("/logs/verifier/stderr.txt", "theirs too\n");
          await call.stdout("ours\n");
          return giveReward("1")(call);
        },
      },
    });
    const folder = `${onlyTrial}/logs/verifier`;
    expect(job.text(`${folder}/stdout.txt`)).toBe("ours\n");
    expect(job.text(`${folder}/stdout.container.txt`)).toBe("theirs\n");
    expect(job.text(`${folder}/stderr.txt`)).toBe("");
    expect(job.text(`${folder}/stderr.container.txt`)).toBe("theirs too\n");
  });

  test("R18: people are told whole lines only, while the script runs", async () => {
    const job = await runJobOnRig({
      script: {
        execute: async ({ stdout }) => {
          await stdout("half a li");
          await stdout("ne\nand more");
          return 0;
        },
      },
    });
    const lines = job.events.flatMap((event) => (event.type === "unit_activity" ? [event.line] : []));
    expect(lines).toEqual(["half a line"]);
  });
});

describe("/logs", () => {
  const agents = [{ name: "a", install: "i", execute: "e" }];
  const cases: [string, JobScript, string, string][] = [
    ["the end", {}, "", ""],
    ["a failed install", { install: () => 1 }, "", "agent_install_failed"],
    ["an install that timed out", { install: hang }, "[agent]\ninstall_timeout_sec = 0.02\n", "agent_install_timeout"],
    ["a failed agent", { execute: () => 1 }, "", "agent_execution_failed"],
    ["an agent that timed out", { execute: hang }, "[agent]\ntimeout_sec = 0.02\n", "agent_execution_timeout"],
    ["a failed verifier", { test: () => 1 }, "", "verifier_failed"],
    ["a verifier that timed out", { test: hang }, "[verifier]\ntimeout_sec = 0.02\n", "verifier_timeout"],
    ["a missing reward", { test: () => 0 }, "", "verifier_reward_missing"],
  ];
  test.each(cases)("R18: all of it is collected after %s", async (_what, script, toml, type) => {
    const job = await runJobOnRig({
      config: { agents },
      tasks: { one: { toml } },
      script,
      onCall: ({ files, command }) => {
        const name = command[1]?.split("/").at(-1) ?? "";
        files.write(`/logs/agent/${name}.txt`, "was here");
        files.write("/logs/custom/deep/x.bin", Buffer.from([0, 255, 10]));
      },
    });
    expect(job.trial(onlyTrial).error?.type ?? "").toBe(type);
    expect(job.text(`${onlyTrial}/logs/agent/install.sh.txt`)).toBe("was here");
    expect(readFileSync(join(job.run.dir, onlyTrial, "logs/custom/deep/x.bin"))).toEqual(Buffer.from([0, 255, 10]));
  });

  test("R18: all of it is collected after a cancellation", async () => {
    let isRunning = false;
    const job = startJob({
      script: {
        execute: (call) => {
          call.files.write("/logs/agent/trace.txt", "so far");
          isRunning = true;
          return hang(call);
        },
      },
    });
    await until(() => isRunning);
    job.cancel();
    const finished = await job.finished;
    expect(finished.trial(onlyTrial).error?.type).toBe("trial_cancelled");
    expect(finished.text(`${onlyTrial}/logs/agent/trace.txt`)).toBe("so far");
  });

  test("R18: a test script that removes /logs has given no reward, and its output is kept", async () => {
    const job = await runJobOnRig({
      script: {
        test: async ({ environment, stdout }) => {
          await stdout("clean up\n");
          await environment.copyTo([{ kind: "remove", target: "/logs" }], new AbortController().signal);
          return 0;
        },
      },
    });
    expect(job.trial(onlyTrial)).toMatchObject({
      error: { type: "verifier_reward_missing" },
      warnings: ["/logs was not copied: it is not there"],
    });
    expect(job.text(`${onlyTrial}/logs/verifier/stdout.txt`)).toBe("clean up\n");
  });

  test("R18: a file in the place of /logs/verifier is refused, and what we captured is kept", async () => {
    const job = await runJobOnRig({
      script: {
        test: async ({ environment, stdout }) => {
          await stdout("tests\n");
          const item = { kind: "file", content: "a file", target: "/logs/verifier", mode: 0o644 } as const;
          await environment.copyTo([item], new AbortController().signal);
          return 0;
        },
      },
    });
    expect(job.trial(onlyTrial).error?.type).toBe("verifier_reward_missing");
    expect(job.text(`${onlyTrial}/logs/verifier/stdout.txt`)).toBe("tests\n");
    expect(job.trial(onlyTrial).warnings).toEqual([expect.stringContaining("/logs/verifier was not copied")]);
  });
});
