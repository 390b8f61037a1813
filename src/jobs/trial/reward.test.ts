import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RigCall } from "../testing/acts.ts";
import { onlyTrial, runJobOnRig } from "../testing/job-rig.ts";
import { makeRoot } from "../testing/temp-files.ts";
import { parseReward, readReward } from "./reward.ts";

const whole = { files: 1, bytes: 1, refused: [] };

describe("the text of a reward", () => {
  test.each([
    ["1", 1],
    ["0", 0],
    ["0.5", 0.5],
    ["1.0\n", 1],
    ["  0.25 \r\n", 0.25],
    ["-1", -1],
    ["+2", 2],
    [".5", 0.5],
    ["5.", 5],
    ["1e-3", 0.001],
    ["2E+2", 200],
    ["007", 7],
    ["-0.0", -0],
  ])("R19: %j is a reward", (text, reward) => expect(parseReward(text)).toBe(reward));

  test.each([
    "",
    " \n",
    "NaN",
    "nan",
    "inf",
    "Infinity",
    "-Infinity",
    "0x1",
    "0b1",
    "1e999",
    "1 0",
    "1\n0",
    "1,5",
    "1_000",
    "passed",
    "1.0f",
    "e5",
    ".",
    "--1",
    "1%",
    "\u0661",
    '"1"',
    "true",
  ])("R19: %j is none", (text) => expect(parseReward(text)).toBeUndefined());

  test("R19: every finite number is read back as it was written, white space around it or not", () => {
    const space = fc.string({ unit: fc.constantFrom(" ", "\n", "\t", "\r"), maxLength: 3 });
    const number = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(space, number, space, (before, value, after) => {
        expect(parseReward(`${before}${value}${after}`)).toBe(Number(String(value)));
      }),
    );
  });

  test("R19: whatever is not such a number is refused, and nothing makes the reading throw", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const reward = parseReward(text);
        expect(reward === undefined || Number.isFinite(reward)).toBe(true);
        if (reward !== undefined) expect(Number(text.trim())).toBe(reward);
      }),
    );
  });
});

describe("the file of a reward", () => {
  function logsWith(make: (folder: string) => void): string {
    const logs = makeRoot();
    mkdirSync(join(logs, "verifier"));
    make(join(logs, "verifier"));
    return logs;
  }

  test("R19: a link that stays in /logs/verifier is followed", async () => {
    const logs = logsWith((folder) => {
      writeFileSync(join(folder, "score"), "0.5");
      symlinkSync("score", join(folder, "reward.txt"));
    });
    expect(await readReward(logs, whole, null)).toEqual({ reward: 0.5, isChanged: false });
  });

  test("R19: a link that leaves /logs/verifier is invalid", async () => {
    const logs = logsWith((folder) => {
      writeFileSync(join(folder, "..", "forged"), "1");
      symlinkSync("../forged", join(folder, "reward.txt"));
    });
    expect(await readReward(logs, whole, null)).toMatchObject({
      failure: { type: "verifier_reward_invalid", message: expect.stringContaining("leaves /logs/verifier") },
    });
  });

  test.each<[string, (folder: string) => void, string]>([
    ["no file at all", () => {}, "verifier_reward_missing"],
    ["a link to nothing", (folder) => symlinkSync("nothing", join(folder, "reward.txt")), "verifier_reward_missing"],
    ["a link to itself", (folder) => symlinkSync("reward.txt", join(folder, "reward.txt")), "verifier_reward_missing"],
    ["a directory", (folder) => mkdirSync(join(folder, "reward.txt")), "verifier_reward_invalid"],
    [
      "a large file",
      (folder) => writeFileSync(join(folder, "reward.txt"), "1".repeat(5000)),
      "verifier_reward_invalid",
    ],
  ])("R19: %s is told as what it is", async (_what, make, type) => {
    expect(await readReward(logsWith(make), whole, null)).toMatchObject({ failure: { type } });
  });

  test.each<[string, string | null, string | null, unknown]>([
    ["as it was", "0\n", "0\n", { reward: 0, isChanged: false }],
    ["written over", "1\n", "0\n", { reward: 0, isChanged: true }],
    ["removed", null, "0.5", { reward: 0.5, isChanged: true }],
    ["made", "1\n", null, { failure: { type: "verifier_reward_missing" }, isChanged: true }],
    ["odd but the same", "1\0ü", "1", { failure: { type: "verifier_reward_invalid" }, isChanged: false }],
  ])("what it held when the tests ended counts, and it is seen to be %s since", async (_what, now, then, verdict) => {
    const logs = logsWith((folder) => now !== null && writeFileSync(join(folder, "reward.txt"), now));
    expect(await readReward(logs, whole, { text: then })).toMatchObject(verdict as object);
  });

  test("R19: a link out of /logs that was never copied is invalid, not missing", async () => {
    const job = await runJobOnRig({
      script: {
        execute: ({ files }) => {
          files.write("/root/forged", "1");
          return 0;
        },
        test: ({ environment }: RigCall) => {
          const link = { kind: "link", target: "/logs/verifier/reward.txt", to: "/root/forged" } as const;
          return environment.copyTo([link], new AbortController().signal).then(() => 0);
        },
      },
    });
    expect(job.trial(onlyTrial)).toMatchObject({ reward: null, error: { type: "verifier_reward_invalid" } });
    expect(job.trial(onlyTrial).error?.message).toContain("links to an absolute path");
  });
});

describe("a trial's reward", () => {
  test.each([
    ["1e0\n", 1],
    ["  0.50\n", 0.5],
  ])("R19: reward.txt with %j is recorded as a number and kept as it was written", async (text, reward) => {
    const job = await runJobOnRig({
      script: {
        test: ({ files }) => {
          files.write("/logs/verifier/reward.txt", text);
          return 0;
        },
      },
    });
    expect(job.trial(onlyTrial).reward).toBe(reward);
    expect(job.text(`${onlyTrial}/logs/verifier/reward.txt`)).toBe(text);
  });

  test.each([
    ["", "is empty"],
    ["0x1", 'holds "0x1"'],
  ])("R19: reward.txt with %j is a failure that shows what it holds", async (text, words) => {
    const job = await runJobOnRig({
      script: {
        test: ({ files }) => {
          files.write("/logs/verifier/reward.txt", text);
          return 0;
        },
      },
    });
    expect(job.trial(onlyTrial).error).toMatchObject({ type: "verifier_reward_invalid" });
    expect(job.trial(onlyTrial).error?.message).toContain(words);
  });

  test("R19: a pass is a reward of at least 1", async () => {
    const rewards = ["0.999", "1", "1.5", "0"];
    const job = await runJobOnRig({
      config: { n_attempts: 4 },
      script: {
        test: ({ files, key }) => {
          files.write("/logs/verifier/reward.txt", rewards[Number(key.at(-1)) - 1] ?? "");
          return 0;
        },
      },
    });
    expect(job.result.pass_rate).toBe(0.5);
  });
});
