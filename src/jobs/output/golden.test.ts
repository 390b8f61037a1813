import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { FakeClock } from "../../base/testing/fake-clock.ts";
import { giveReward } from "../testing/acts.ts";
import { runJobOnRig } from "../testing/job-rig.ts";

const fixtures = join(import.meta.dirname, "fixtures");

function compare(name: string, text: string): void {
  const path = join(fixtures, name);
  // Typed by hand when a result changes on purpose: UPDATE_GOLDEN=1 and a look at the difference.
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(path, text);
  expect(text).toBe(readFileSync(path, "utf8"));
}

const toml = `
version = "1.0"
source = "handmade"
[metadata]
difficulty = "easy"
tags = ["trivial"]
`;

test("both result.json are what their golden files say, to the last byte", async () => {
  const clock = new FakeClock();
  const spend = (ms: number) => clock.advance(ms);
  const job = await runJobOnRig({
    clock,
    pricePerHour: 3.6,
    tasks: { complex: { toml }, hello: { toml } },
    config: {
      n_attempts: 2,
      n_concurrent_trials: 1,
      metrics: [{ type: "mean" }, { type: "max" }],
      agents: [{ name: "cpe", install: "get", execute: "go" }, { name: "nop" }],
    },
    faults: ({ operation }) =>
      operation === "create" ? spend(2000) : operation === "destroy" ? spend(500) : undefined,
    script: {
      install: () => spend(1000).then(() => 0),
      execute: async ({ key, files, stderr, spawn }) => {
        await spend(10_000);
        files.write("/logs/agent/usage.json", '{"cost_usd": 0.25, "input_tokens": 1000, "output_tokens": 50}');
        if (key.includes("hello")) {
          spawn("python -m http.server");
          return 0;
        }
        await stderr("Traceback\nKeyError: 'x'\n");
        return key.endsWith("__1") ? 1 : 0;
      },
      test: async (call) => {
        await spend(3000);
        if (call.key.startsWith("nop")) await call.stdout("collected 0 items\n");
        return giveReward(call.key.startsWith("cpe") ? "1\n" : "0\n")(call);
      },
    },
  });
  compare("trial-completed.json", job.text("cpe/set/hello__1/result.json"));
  compare("trial-failed.json", job.text("cpe/set/complex__1/result.json"));
  compare("job.json", job.text("result.json"));
});
