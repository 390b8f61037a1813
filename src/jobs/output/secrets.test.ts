import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { readHost } from "../../base/host.ts";
import { RolloutError } from "../../base/rollout-error.ts";
import { openMemoryStore } from "../../store/memory/open-memory-store.ts";
import type { Act } from "../testing/acts.ts";
import { onlyTrial, startJob } from "../testing/job-rig.ts";

const agentKey = "canary-agent-5f0e7c";
const judgeKey = "canary-judge-91ab3d";
const taskKey = "canary-task-77aa01";
const env = { AGENT_KEY: agentKey, JUDGE_KEY: judgeKey, TASK_KEY: taskKey, PIN: "1234" };
const canaries = [agentKey, judgeKey, taskKey].flatMap((value) => [
  value,
  Buffer.from(value).toString("base64").slice(0, 20),
]);

const config = {
  agents: [
    { name: "a", install: "i", execute: "e", env: { KEY: "${AGENT_KEY}", MODEL: "${MODEL:-small}", PIN: "${PIN}" } },
  ],
  verifier: { env: { JUDGE: "${JUDGE_KEY}" } },
  retry: { initial_delay_ms: 1 },
};
const toml = '[verifier.env]\nTASK = "${TASK_KEY}"\n';

// Says its secrets everywhere a script can say something.
const blab = (exitCode: number): Act => {
  return async ({ stdout, stderr, files, env, spawn, command }) => {
    const words = `${JSON.stringify(env)} ${Buffer.from(`x${env["KEY"] ?? env["JUDGE"]}`).toString("base64")}`;
    await stdout(words.slice(0, 25));
    await stdout(`${words.slice(25)}\n`);
    await stderr(`error: ${words}\n`);
    files.write("/logs/agent/trace.txt", words);
    files.write(`/logs/verifier/${command[1]?.split("/").at(-1)}.log`, words);
    spawn(`server --key ${env["KEY"] ?? ""}`);
    return exitCode;
  };
};

function findCanaries(dir: string, files: readonly string[]): string[] {
  return files.filter((path) => {
    const full = join(dir, path);
    const text = lstatSync(full).isSymbolicLink() ? readlinkSync(full) : readFileSync(full, "latin1");
    return canaries.some((canary) => text.includes(canary));
  });
}

describe("secret values", () => {
  test("R37: none is in the store, not even in a fingerprint or in a text that was cut", async () => {
    const store = openMemoryStore({ host: readHost(process), clock: systemClock });
    const job = startJob({
      config: { ...config, agents: [{ ...config.agents[0], n_concurrent: 1 }] },
      env,
      tasks: { one: { toml } },
      script: { execute: blab(1) },
      registry: store.runs,
      onEvent: (event) => {
        // The limit of a text in run.json is 200 characters.
        if (event.type === "unit_started") throw new Error(`${"x".repeat(140)} ${agentKey}`);
      },
    });
    const finished = await job.finished;
    const run = await store.runs.get("run-1");
    const unit = await store.runs.unit("run-1", onlyTrial);
    expect(unit?.failure).toMatchObject({ type: "agent_execution_failed" });
    const stored = JSON.stringify([run, unit, job.events]) + finished.text(".rollout/run.json");
    // Digits are replaced in a fingerprint, so that a secret in it would not be found as a whole.
    for (const canary of ["canary", ...canaries]) expect(stored).not.toContain(canary);
    expect(unit?.failure?.message).toContain("[redacted:AGENT_KEY]");
    expect(run?.warnings.join()).toContain("[redacted:AGENT_KEY]");
  });

  test.each([
    ["ends well", 0],
    ["fails and says them in its last words", 1],
  ])("R37: none is anywhere in the job directory or in an event when the agent %s", async (_how, exitCode) => {
    let faults = 0;
    const job = startJob({
      config,
      env,
      tasks: { one: { toml } },
      script: { install: blab(0), execute: blab(exitCode), test: blab(exitCode) },
      faults: ({ operation }) => {
        if (operation === "create" && faults++ === 0) {
          throw new RolloutError("environment_start_failed", `HTTP 500 for key ${agentKey}`, {
            transient: true,
            hint: judgeKey,
          });
        }
        if (operation === "destroy") throw new Error(`cannot remove what ${agentKey} made`);
      },
    });
    const finished = await job.finished;
    expect(finished.trial(onlyTrial).tries).toBe(2);
    expect(findCanaries(job.jobDir, finished.tree())).toEqual([]);
    const told = JSON.stringify([job.events, job.logs]);
    expect(canaries.filter((canary) => told.includes(canary))).toEqual([]);
    // The test can fail: what was redacted was there.
    expect(finished.text(`${onlyTrial}/command/stdout.txt`)).toContain("[redacted:AGENT_KEY]");
    expect(finished.text(`${onlyTrial}/logs/agent/trace.txt`)).toContain("[redacted:");
    expect(finished.text(`${onlyTrial}/retries/1/error.txt`)).toContain("[redacted:JUDGE_KEY]");
    expect(told).toContain("HTTP 500 for key [redacted:AGENT_KEY]");
  });

  test("R37: a listener that throws does not end the job, and its error is one redacted warning", async () => {
    const job = startJob({
      config,
      env,
      onEvent: (event) => {
        if (event.type === "unit_started") throw new Error(`a listener's own trouble with ${agentKey}`);
      },
    });
    const finished = await job.finished;
    expect(finished.trial(onlyTrial).reward).toBe(1);
    expect(job.logs).toHaveLength(1);
    expect(JSON.stringify(job.logs)).toContain("a listener's own trouble with [redacted:AGENT_KEY]");
    expect(findCanaries(job.jobDir, finished.tree())).toEqual([]);
    const warning = "the event listener failed on unit_started: a listener's own trouble with [redacted:AGENT_KEY]";
    expect(finished.result.warnings.filter((message) => message.includes("listener"))).toEqual([warning]);
    expect(job.events.filter((event) => event.type === "warning" && event.message === warning)).toHaveLength(1);
    expect(job.events.at(-1)?.type).toBe("run_finished");
  });

  test("R37: values too short to redact are named in one warning", async () => {
    const finished = await startJob({ config, env }).finished;
    expect(finished.result.warnings).toEqual(["values of PIN are shorter than 8 characters and are not redacted"]);
  });

  test("R2: config.json is the job as resolved, with templates in place of values", async () => {
    const job = startJob({ config, env });
    const finished = await job.finished;
    const document = JSON.parse(finished.text("config.json")) as Record<string, unknown>;
    expect(document).toMatchObject({
      name: "job",
      jobs_dir: join(job.root, "jobs"),
      n_attempts: 1,
      n_concurrent_trials: 4,
      timeout_multiplier: 1,
      retry: { max_attempts: 3, initial_delay_ms: 1, max_delay_ms: 30_000, multiplier: 2 },
      instruction_path: "/tmp/instruction.md",
      environment: { type: "memory", preserve_env: "never" },
      agents: [{ name: "a", env: { KEY: "${AGENT_KEY}", MODEL: "${MODEL:-small}", PIN: "${PIN}" } }],
      verifier: { disable: false, env: { JUDGE: "${JUDGE_KEY}" } },
      datasets: [{ path: join(job.root, "set") }],
    });
  });
});
