import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { base, engineVariables, makeDockerRoom, plainTask } from "./docker-rig.ts";
import { onTerminal, root, type TaskOptions } from "./rollout-cli.ts";

const built: TaskOptions = { ...plainTask, toml: "", dockerfile: `FROM ${base}\nWORKDIR /app\n` };

describe("a job in containers:", () => {
  test("the oracle passes, nop does not, and nothing is left behind", async (context) => {
    const room = await makeDockerRoom(context);
    await room.writeDockerJob({ a: built, b: plainTask }, { agents: [{ name: "oracle" }, { name: "nop" }] });
    const running = room.startJob();
    const { code, stderr } = await running.ended;
    expect(code, stderr).toBe(0);
    const { results } = await room.jobResult();
    expect(results.map(({ agent_name, task_name, reward }) => [agent_name, task_name, reward])).toEqual([
      ["oracle", "a", 1],
      ["oracle", "b", 1],
      ["nop", "a", 0],
      ["nop", "b", 0],
    ]);
    expect(await room.containersOf(running.pid)).toEqual([]);
    // Every fact of a container is in the contract.
    const { environment } = await room.trial("oracle/tasks/a__1");
    const spec = await readFile(join(root, "SPEC.md"), "utf8");
    const told = /`docker` \(the default\):[^]*?\n- `local`/.exec(spec)?.[0] ?? "";
    expect(environment).toMatchObject({ provider: "docker", engine: "docker", limits: { storage: null } });
    for (const fact of [...Object.keys(environment ?? {}), ...Object.keys(environment?.["limits"] ?? {})])
      expect(told).toContain(`\`${fact}\``);
  });

  test("work in a volume of the image reaches tests that run elsewhere", async (context) => {
    const room = await makeDockerRoom(context);
    const dockerfile = `FROM ${base}\nRUN mkdir /app && touch /app/given\nVOLUME /app\nWORKDIR /app\n`;
    await room.writeDockerJob({ a: { ...built, dockerfile } }, { verifier: { environment: "separate" } });
    const { code, stderr } = await room.runJob();
    expect(code, stderr).toBe(0);
    expect((await room.jobResult()).results).toMatchObject([{ reward: 1, error_type: null }]);
  });

  test("a task that cannot be built or pulled does not fail its neighbours", async (context) => {
    const room = await makeDockerRoom(context);
    await room.writeDockerJob({
      broken: { ...built, dockerfile: `FROM ${base}\nRUN exit 3\n` },
      gone: { ...plainTask, toml: '[environment]\ndocker_image = "localhost:9/no/image:1"\n' },
      good: built,
    });
    expect(await room.runJob()).toMatchObject({ code: 3 });
    const { results } = await room.jobResult();
    expect(results.map(({ task_name, reward, error_type }) => [task_name, reward, error_type])).toEqual([
      ["broken", null, "environment_build_failed"],
      ["gone", null, "environment_image_pull_failed"],
      ["good", 1, null],
    ]);
  });

  test("what a build prints is shown live, and stands in its log", async (context) => {
    const room = await makeDockerRoom(context);
    // Long enough that a busy machine draws while it lasts; only the output holds the sum.
    const steps = `RUN echo ${randomUUID()}; for round in 1 2 3 4 5 6 7 8; do echo "compiled $((round + 40)) parts"; sleep 1; done`;
    await room.writeDockerJob({ a: { ...built, dockerfile: `${built.dockerfile}${steps}\n` } });
    const terminal = onTerminal(context, ["job.yaml"], engineVariables());
    const { code, stdout } = await room.run([], { ...terminal, patienceMs: 300_000 });
    expect(code, stdout).toBe(0);
    expect(stdout).toMatch(/build a\/environment: .*compiled 4[1-8] parts/);
    const [log = ""] = (await room.files("jobs/job/.rollout/images")).filter((file) => file.endsWith("/build.log"));
    expect(await room.read(`jobs/job/.rollout/images/${log}`)).toMatch(/compiled 48 parts/);
  });
});
