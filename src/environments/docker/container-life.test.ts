import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../base/clock.ts";
import { EngineClient } from "./connection/engine-client.ts";
import type { Engine } from "./connection/open-engine.ts";
import { ContainerLife } from "./container-life.ts";

const mainPid = 4711;

interface Answers {
  readonly product?: "docker" | "podman";
  /** How often the engine still calls the container running. */
  readonly running: number;
  /** Pids that the engine lists; null for a refusal. */
  readonly top: readonly number[] | null;
  readonly events?: readonly string[];
}

// A container whose engine gives the same answers as a real one at the moment when the main process ends.
async function openLife({ product = "docker", running, top, events = [] }: Answers): Promise<ContainerLife> {
  const dir = mkdtempSync(join(tmpdir(), "rollout-engine-"));
  const socketPath = join(dir, "engine.sock");
  let asked = 0;
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    if (path.includes("/top") && top === null) response.writeHead(500).end('{"message":"ttrpc: closed: unknown"}');
    else if (path.includes("/top"))
      response.end(JSON.stringify({ Titles: [], Processes: top?.map((pid) => [`${pid}`, "1", "sleep"]) ?? null }));
    else if (path.startsWith("/events")) response.end(events.map((Action) => JSON.stringify({ Action })).join("\n"));
    else {
      const Running = ++asked <= running;
      const ends = Running ? { Pid: mainPid, FinishedAt: "" } : { Pid: 0, FinishedAt: new Date().toISOString() };
      response.end(JSON.stringify({ State: { Running, ExitCode: 137, ...ends } }));
    }
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  const client = new EngineClient({ kind: "unix", socketPath, origin: "the test" }, { env: {} }, systemClock);
  onTestFinished(() => {
    client[Symbol.dispose]();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  const life = new ContainerLife({ engine: { client, product } as Engine, clock: systemClock }, "0123456789abcdef");
  life.noteService();
  return life;
}

test.for([
  ["that the engine has noticed", { running: 0, top: null, events: ["die"] }],
  ["that the engine notices later", { running: 3, top: [], events: ["die"] }],
  ["that the engine notices later, with commands that still end", { running: 3, top: [1, 2], events: ["die"] }],
  [
    "that the engine notices later and refuses to list processes until then",
    { running: 3, top: null, events: ["die"] },
  ],
  ["after the memory limit killed processes", { running: 0, top: null, events: ["oom", "die"] }],
  ["that Podman reports", { product: "podman", running: 2, top: null, events: ["died"] }],
] satisfies [string, Answers][])("an end from inside %s is not transient", async ([, answers]) => {
  const life = await openLife(answers);
  await expect(life.assertAlive()).rejects.toMatchObject({ code: "environment_ended", transient: false });
});

test.for([
  ["that somebody killed", { running: 2, top: [], events: ["kill", "die"] }],
  ["that somebody killed with Podman", { product: "podman", running: 2, top: [], events: ["kill", "died"] }],
  ["whose engine was restarted and knows nothing of its end", { running: 0, top: null, events: [] }],
] satisfies [string, Answers][])("a container %s is lost", async ([, answers]) => {
  const life = await openLife(answers);
  await expect(life.assertAlive()).rejects.toMatchObject({ code: "environment_lost", transient: true });
});

test.for([
  ["docker", [mainPid, 4712]],
  ["podman", [1, 7]],
] as const)("a main process that %s lists is alive", async ([product, top]) => {
  const life = await openLife({ product, running: 1, top });
  await expect(life.assertAlive()).resolves.toBeUndefined();
});
