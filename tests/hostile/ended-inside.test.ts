import { describe, expect, test, type TestContext } from "vitest";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { clusterTask, makeClusterJob } from "../e2e/cluster-job.ts";
import { base, makeDockerRoom } from "../e2e/docker-rig.ts";
import { openLocalRig, rewarding } from "../e2e/local-rig.ts";
import type { Ended, Room } from "../e2e/rollout-cli.ts";
import { findEngines } from "../engines/find-engines.ts";
import { openCuttableProxy } from "../providers/docker/cuttable-proxy.ts";

const local = await openLocalRig();
const attempts = 6;
// Ends a keeper that is process 1 itself, and a keeper under an init.
const end = "kill -TERM 1; kill -KILL -1";
// Up to 60 ms, without a process of its own.
const pause = "read -r -t 0.$(printf %03d $((RANDOM % 60))) <> <(:)";
const leave = (script: string): string => `setsid bash -c '${script}' </dev/null >/dev/null 2>&1 &`;

/** Agents that end their own container, each at another moment. */
const agents = [
  { name: "execute", execute: `${pause}; ${end}; sleep 60` },
  { name: "between", execute: leave(`${pause}; ${end}`) },
  { name: "verifier", execute: leave(`until [ -e /tmp/tested ]; do sleep 0.01; done; ${pause}; ${end}`) },
  { name: "reward", execute: leave(`until [ -s /logs/verifier/reward.txt ]; do :; done; ${pause}; ${end}`) },
];
const testScript = "touch /tmp/tested; sleep 0.1; echo 1 > /logs/verifier/reward.txt";
const job = {
  agents,
  n_attempts: attempts,
  n_concurrent_trials: 3,
  retry: { max_attempts: 2, initial_delay_ms: 1 },
};

type Runner = (context: TestContext) => Promise<{ readonly room: Room; readonly ended: Ended }>;

async function runOnEngine(context: TestContext, env: Readonly<Record<string, string>>): ReturnType<Runner> {
  const room = await makeDockerRoom(context, env);
  const toml = `[environment]\ndocker_image = "${base}"\nmemory = "256Mi"\n`;
  await room.writeDockerJob({ one: { toml, dockerfile: null, solution: null, test: testScript } }, job);
  return { room, ended: await room.runJob() };
}

const engines = await findEngines();
const runners: Readonly<Record<string, Runner>> = {
  docker: (context) => runOnEngine(context, {}),
  // An engine behind an address shares no files with us.
  async "docker over TCP"(context) {
    await using proxy = await openCuttableProxy();
    return await runOnEngine(context, { DOCKER_HOST: proxy.address });
  },
  podman: (context) => runOnEngine(context, engines.find(({ name }) => name === "podman")?.env ?? {}),
  async kubernetes(context) {
    const room = await makeClusterJob(context, job);
    await room.writeTask("tasks/one", { ...clusterTask, test: testScript });
    return { room, ended: await room.startJob().ended };
  },
};

describe("an agent that ends its own container gets no second try", () => {
  test.for(Object.entries(runners))("with %s", { timeout: 300_000 }, async ([, run], context) => {
    const { room, ended } = await run(context);
    expect([0, 3], ended.stderr).toContain(ended.code);
    const keys = agents.flatMap(({ name }) =>
      Array.from({ length: attempts }, (_, index) => `jobs/job/${name}/tasks/one__${index + 1}/result.json`),
    );
    const results = await Promise.all(keys.map((key) => room.readJson<TrialResultFile>(key)));
    const told = results.map(({ agent_name, tries, error }) => ({
      agent_name,
      tries,
      cause: error?.cause ?? null,
      message: error?.message,
    }));
    expect(told.filter(({ tries, cause }) => tries !== 1 || (cause !== null && cause !== "agent"))).toEqual([]);
    expect(told.filter(({ message }) => message?.includes("was ended from inside")).length).toBeGreaterThan(attempts);
  });
});

test("an agent that ends its sandbox through the memory limit gets no second try", async () => {
  // Files in memory belong to no process, so that the limit kills all processes.
  const fill = "until [ -e /tmp/tested ]; do sleep 0.01; done; head -c 200M /dev/zero > /dev/shm/full";
  const room = await local.makeRoom(
    { one: { toml: '[environment]\nmemory = "48Mi"\n', test: `touch /tmp/tested; sleep 10; ${rewarding(1)}` } },
    {
      ...job,
      agents: [{ name: "agent", execute: leave(fill) }],
      environment: { type: "local", provider_config: { storage: "memory" } },
    },
  );
  const { code, stderr } = await room.run(["job.yaml"]);
  expect(code, stderr).toBe(3);
  for (let attempt = 1; attempt <= attempts; attempt++)
    expect(await room.trial(`agent/tasks/one__${attempt}`)).toMatchObject({ tries: 1, error: { cause: "agent" } });
});
