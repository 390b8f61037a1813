import { cpSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { JobResultFile } from "../../src/jobs/output/job-result-schema.ts";
import { engineVariables, makeDockerRoom } from "./docker-rig.ts";
import { root } from "./rollout-cli.ts";

// The first time the engine installs compilers into the layer that all twelve share.
const limitMs = 1_500_000;

test(
  "twelve tasks like those of benchmarks: the oracle passes all, nop none, and nothing is left",
  { timeout: limitMs },
  async (context) => {
    const room = await makeDockerRoom(context);
    cpSync(join(root, "examples/docker-workshop"), room.path("workshop"), { recursive: true });
    const args = ["workshop/job.yaml", "--json", "--name", "job"];
    const running = room.start(args, { env: engineVariables(), patienceMs: limitMs });
    const { code, stdout, stderr } = await running.ended;
    expect(code, stderr).toBe(0);
    const { result } = JSON.parse(stdout) as { result: JobResultFile };
    const missed = result.results.filter(({ agent_name: agent, reward }) => reward !== (agent === "oracle" ? 1 : 0));
    expect(missed).toEqual([]);
    expect(result).toMatchObject({ total_trials: 24, completed_trials: 24, errors: {} });
    // That a small machine may be slow with four at once is all there is to say.
    expect(result.warnings.filter((warning) => !warning.includes("trials at once may use"))).toEqual([]);
    expect(await room.containersOf(running.pid)).toEqual([]);

    // The service that the agent was asked to start was alive when the tests came.
    const service = await room.trial("oracle/tasks/note-service__1");
    expect(service.leftovers.map(({ command }) => command)).toContain("python3 /app/notes.py");
    expect(await room.trial("oracle/tasks/opening-hours__1")).toMatchObject({ warnings: [] });
    expect(await room.read("jobs/job/oracle/tasks/opening-hours__1/logs/verifier/stdout.txt")).toContain("16 passed");
  },
);
