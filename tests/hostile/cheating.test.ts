import { describe, expect, test, type TestContext } from "vitest";
import type { TrialResultFile } from "../../src/jobs/output/trial-result-schema.ts";
import { base, makeDockerRoom } from "../e2e/docker-rig.ts";
import { openLocalRig } from "../e2e/local-rig.ts";
import type { Ended, Room } from "../e2e/rollout-cli.ts";
import { openCuttableProxy } from "../providers/docker/cuttable-proxy.ts";
import { cheats, testScript } from "./cheats/cheats.ts";

const local = await openLocalRig();

/** Runs a job and gives its results by agent. */
type Runner = (
  context: TestContext,
  names: readonly string[],
  job: Readonly<Record<string, unknown>>,
) => Promise<Map<string, TrialResultFile>>;

const work = "mkdir -p /app; echo 42 > /app/answer";
const everybody = [
  ...cheats,
  { name: "honest", execute: work },
  { name: "server", execute: `${work}; setsid sleep 300 &` },
].map(({ name, execute }) => ({ name, execute }));
const allNames = everybody.map(({ name }) => name);
const agentsOf = (names: readonly string[]): typeof everybody => everybody.filter(({ name }) => names.includes(name));
const task = { test: testScript, solution: null };

const runners: Readonly<Record<string, Runner>> = {
  async local(_context, names, job) {
    const room = await local.makeRoom({ cheated: task }, { agents: agentsOf(names), n_concurrent_trials: 4, ...job });
    return readResults(room, names, await room.run(["job.yaml"]));
  },
  docker: (context, names, job) => runOnDocker(context, names, job),
  // An engine behind an address shares no files with us, and is asked about all.
  async "docker over TCP"(context, names, job) {
    await using proxy = await openCuttableProxy();
    return await runOnDocker(context, names, job, { DOCKER_HOST: proxy.address });
  },
};

async function runOnDocker(
  ...[context, names, job, env]: [...Parameters<Runner>, Readonly<Record<string, string>>?]
): ReturnType<Runner> {
  const room = await makeDockerRoom(context, env);
  const toml = `[environment]\ndocker_image = "${base}"\nmemory = "256Mi"\n`;
  const tasks = { cheated: { ...task, toml, dockerfile: null } };
  await room.writeDockerJob(tasks, { agents: agentsOf(names), n_concurrent_trials: 4, ...job });
  return readResults(room, names, await room.runJob());
}

async function readResults(
  room: Room,
  names: readonly string[],
  { code, stderr }: Ended,
): Promise<Map<string, TrialResultFile>> {
  const read = async (name: string): Promise<[string, TrialResultFile]> => [
    name,
    await room.readJson(`jobs/job/${name}/tasks/cheated__1/result.json`),
  ];
  const results = await Promise.all(names.map(read));
  const errors = results.flatMap(([name, { error }]) => (error ? [{ name, error }] : []));
  expect({ code, errors }, stderr).toEqual({ code: 0, errors: [] });
  return new Map(results);
}

function marksOf(results: ReadonlyMap<string, TrialResultFile>): Record<string, unknown> {
  return Object.fromEntries(
    [...results].map(([name, { reward, untrusted }]) => [name, { reward, isTrusted: untrusted.length === 0 }]),
  );
}

const expected = (of: (cheat: (typeof cheats)[number]) => object): Record<string, unknown> => ({
  ...Object.fromEntries(cheats.map((cheat) => [cheat.name, of(cheat)])),
  honest: { reward: 1, isTrusted: true },
  server: { reward: 1, isTrusted: true },
});

for (const [name, run] of Object.entries(runners)) {
  describe(`an agent that cheats on ${name}`, () => {
    test("beside the tests has no reward, or is not trusted", async (context) => {
      const results = await run(context, allNames, {});
      const failed = { reward: 0, isTrusted: true };
      const marks = marksOf(results);
      expect({ ...marks, barricade: null, "late-writer": null }).toEqual({
        ...expected(({ isOnlyDetected }) =>
          isOnlyDetected ? { reward: expect.any(Number), isTrusted: false } : failed,
        ),
        barricade: null,
        "late-writer": null,
      });
      // Whether it was in the way depends on who was faster; it buys neither a failure nor another try.
      expect(results.get("barricade")).toMatchObject({ reward: 0, tries: 1 });
      // Whether what it wrote was still seen depends on who was faster; it never counts.
      expect(results.get("late-writer")?.reward).toBe(0);
      expect(results.get("other-shell")?.untrusted.join()).toMatch(/the agent changed .*\/bash/);
      expect(results.get("preload")?.untrusted.join()).toContain("/etc/ld.so.preload");
      expect(results.get("overwriter")?.untrusted.join()).toContain("writes to reward.txt (");
      expect(results.get("test-swapper")?.untrusted.join()).toContain("changed the tests: /tests/test.sh");
      expect(results.get("test-adder")?.untrusted.join()).toContain("added to the tests: /tests/conftest.py");
      expect(results.get("overwriter")?.warnings.join()).toContain("untrusted: ");
    });

    test("and leaves something running has nothing of it when that is ended first", async (context) => {
      const names = ["overwriter", "late-writer", "honest"];
      const results = await run(context, names, { verifier: { leftovers: "kill" } });
      expect(marksOf(results)).toEqual({
        overwriter: { reward: 0, isTrusted: true },
        "late-writer": { reward: 0, isTrusted: true },
        honest: { reward: 1, isTrusted: true },
      });
    });

    test("has no reward where the tests run elsewhere", async (context) => {
      const results = await run(context, allNames, { verifier: { environment: "separate", paths: ["/app"] } });
      expect(marksOf(results)).toEqual(expected(() => ({ reward: 0, isTrusted: true })));
    });
  });
}
