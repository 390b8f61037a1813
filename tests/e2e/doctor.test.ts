import { expect, test } from "vitest";
import { findEngines } from "../engines/find-engines.ts";
import { cannotRun, makeRoom } from "./rollout-cli.ts";

interface Findings {
  readonly environments: readonly { readonly type: string; readonly works: boolean | null; readonly words: string[] }[];
}

test("doctor names every environment, and for an engine that does not answer the remedy and what would do without one", async () => {
  const room = await makeRoom();
  const { stdout } = await room.run(["doctor", "--json"], {
    env: { DOCKER_HOST: `unix://${room.path("no-engine.sock")}` },
  });
  const { environments } = JSON.parse(stdout) as Findings;
  expect(environments.map(({ type }) => type)).toEqual(["memory", "local", "docker", "kubernetes", "podman"]);
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

for (const engine of await findEngines()) {
  test(`doctor tells the version and the address of ${engine.name}`, async (context) => {
    if (engine.reason !== null) cannotRun(context, engine.reason);
    const room = await makeRoom();
    const DOCKER_HOST = engine.env["DOCKER_HOST"] ?? process.env["DOCKER_HOST"] ?? "unix:///var/run/docker.sock";
    const { stdout } = await room.run(["doctor", "--json"], { env: { ...engine.env, DOCKER_HOST } });
    const docker = (JSON.parse(stdout) as Findings).environments.find(({ type }) => type === "docker");
    const name = engine.name === "podman" ? "Podman" : "Docker";
    expect(docker?.works).toBe(true);
    expect(docker?.words[0]).toMatch(
      new RegExp(`^${name} \\d+\\.\\S+ \\(API \\d+\\.\\d+, linux/\\w+\\) at ${DOCKER_HOST}$`),
    );
  });
}
