import { expect, test } from "vitest";
import { makeRoom } from "./rollout-cli.ts";

interface Findings {
  readonly environments: readonly { readonly type: string; readonly works: boolean | null; readonly words: string[] }[];
}

test("doctor names every environment, and for an engine that does not answer the remedy and what would do without one", async () => {
  const room = await makeRoom();
  const { stdout } = await room.run(["doctor", "--json"], {
    env: { DOCKER_HOST: `unix://${room.path("no-engine.sock")}` },
  });
  const { environments } = JSON.parse(stdout) as Findings;
  expect(environments.map(({ type }) => type)).toEqual(["memory", "local", "docker", "podman"]);
  const docker = environments.find(({ type }) => type === "docker");
  expect(docker?.works).toBe(false);
  expect(docker?.words.join("\n")).toMatch(/no-engine\.sock[^]*environment\.type: local/);
});

test("a job on an engine that does not answer ends before it starts, with the same words", async () => {
  const room = await makeRoom();
  await room.writeTask("tasks/one");
  await room.writeJob({ environment: { type: "docker" } });
  const { code, stderr } = await room.run(["job.yaml"], {
    env: { DOCKER_HOST: `unix://${room.path("no-engine.sock")}` },
  });
  expect(code).toBe(2);
  expect(stderr).toMatch(/no-engine\.sock[^]*environment\.type: local/);
  expect(await room.files("jobs")).toEqual([]);
});
