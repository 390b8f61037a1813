import { describe, expect, test } from "vitest";
import { onlyTrial, runJobOnRig } from "./testing/job-rig.ts";

describe("before a job starts", () => {
  test("R35: a selection is told as a warning and kept in the journal", async () => {
    const job = await runJobOnRig({ tasks: { one: {}, two: {}, three: {} }, selection: { include: ["t*"], limit: 1 } });
    expect(job.result.warnings).toContain('only 1 of 3 tasks were selected: {"task":["t*"],"limit":1}');
    expect(JSON.parse(job.text(".rollout/journal.jsonl").split("\n")[0] ?? "")).toMatchObject({
      selection: { task: ["t*"], limit: 1 },
    });
  });

  test("a job of every task says nothing of a selection", async () => {
    const job = await runJobOnRig();
    expect(job.result.warnings).toEqual([]);
    expect(job.text(".rollout/journal.jsonl")).toContain('"selection":null');
  });

  test("R1: shell forms that are not replaced are named", async () => {
    const agents = [{ name: "a", execute: "x", env: { A: "${X-y}", B: "${X:-y}", C: "$X", D: "${2}" } }];
    const job = await runJobOnRig({ config: { agents } });
    expect(job.result.warnings).toEqual([
      'env of agent a: A holds "${X-y}"; only ${VAR} and ${VAR:-default} are replaced',
      'env of agent a: D holds "${2}"; only ${VAR} and ${VAR:-default} are replaced',
    ]);
  });

  test("R26: environments that are to be kept and cannot be are told", async () => {
    const keeping = (preserve: string): Record<string, unknown> => ({
      environment: { type: "memory", preserve_env: preserve },
    });
    const capabilities = { stop: false };
    const job = await runJobOnRig({ config: keeping("on_failure"), capabilities });
    expect(job.result.warnings).toEqual([
      'environment.preserve_env: on_failure keeps nothing: environment "memory" cannot keep what is in it as provider_config sets it up, a disk in memory for one',
    ]);
    expect((await runJobOnRig({ config: keeping("never"), capabilities })).result.warnings).toEqual([]);
    expect((await runJobOnRig({ config: keeping("always") })).result.warnings).toEqual([]);
  });

  test("a job of more trials than anybody means is refused before the plan is made", async () => {
    await expect(runJobOnRig({ config: { n_attempts: 100_000_000 } })).rejects.toMatchObject({
      code: "config_invalid",
      message: "the job would have 100000000 trials; the most is 1000000",
    });
  });

  test("what an adapter throws in open is told as the adapter's, with where it was thrown", async () => {
    const open = (): never => {
      throw new TypeError("x is not a function");
    };
    await expect(runJobOnRig({ onOpen: open })).rejects.toMatchObject({
      code: "provider_unavailable",
      message: 'environment "memory" threw in open: x is not a function',
      hint: expect.stringMatching(/RolloutError\n +at /),
    });
  });
});

test("R10: error.txt of a broken task holds every problem it has", async () => {
  const job = await runJobOnRig({
    tasks: { one: { toml: '[agent]\ntimeout_sec = -1\n[environment]\ncpus = "x"\nmemory = []\n' } },
  });
  const text = job.text(`${onlyTrial}/error.txt`);
  for (const key of ["agent.timeout_sec", "environment.cpus", "environment.memory"]) expect(text).toContain(key);
});

test("R28: wrong fields of usage.json are warned of and not taken", async () => {
  const write = (text: string) =>
    runJobOnRig({
      script: {
        execute: ({ files }) => {
          files.write("/logs/agent/usage.json", text);
          return 0;
        },
      },
    });
  const wrong = (await write('{"cost_usd": "a", "input_tokens": 3}')).trial(onlyTrial);
  expect(wrong.agent_usage).toEqual({ cost_usd: null, input_tokens: 3, output_tokens: null });
  expect(wrong.warnings).toEqual(["/logs/agent/usage.json: cost_usd is not a number from 0 to 1e15"]);
  const none = (await write('{"tokens": 3}')).trial(onlyTrial);
  expect(none.warnings).toEqual(["/logs/agent/usage.json has none of cost_usd, input_tokens, output_tokens"]);
});
