import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { onlyTrial, runJobOnRig } from "../testing/job-rig.ts";
import { makeRoot } from "../testing/temp-files.ts";

test("R34: a reward that was earned is kept in the journal and the job's result when its result.json cannot be written", async () => {
  const root = makeRoot();
  const job = await runJobOnRig({
    root,
    script: {
      test: ({ files }) => {
        // A directory in its place is as good as a full disk, and works for root too.
        mkdirSync(join(root, "jobs", "job", onlyTrial, "result.json", "taken"), { recursive: true });
        files.write("/logs/verifier/reward.txt", "1");
        return 0;
      },
    },
  });
  expect(job.result).toMatchObject({ completed_trials: 1, failed_trials: 0, mean_reward: 1 });
  const lines = job.text(".rollout/journal.jsonl").split("\n");
  const finished = lines.filter((line) => line.includes('"trial_finished"')).map((line) => JSON.parse(line) as unknown);
  expect(finished).toMatchObject([
    { result: { reward: 1, warnings: [expect.stringContaining("not everything of it could be written")] } },
  ]);
});
