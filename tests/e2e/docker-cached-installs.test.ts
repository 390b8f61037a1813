import { randomUUID } from "node:crypto";
import { describe, expect, onTestFinished, test } from "vitest";
import { base, makeDockerRoom, plainTask, type DockerRoom } from "./docker-rig.ts";

const token = "canary-of-an-install-7f3a";
const never = new AbortController().signal;
const install = `set -e
mkdir -p /opt/agent && date +%s%N > /opt/agent/version
echo mine > /logs/agent/install.log; echo "$TOKEN" | wc -c`;

interface ImageRow {
  readonly Id: string;
  readonly Labels: Readonly<Record<string, string>>;
  readonly Created: number;
}

interface ImageFile {
  readonly Config: Readonly<Record<string, unknown>> & { readonly Labels: Readonly<Record<string, string>> };
}

async function listInstalls({ engine }: DockerRoom): Promise<readonly ImageRow[]> {
  const query = { all: true, filters: JSON.stringify({ label: ["rollout.cached-install"] }) };
  return engine.client.json({ method: "GET", path: "/images/json", query, signal: never });
}

function inspect({ engine }: DockerRoom, image: string): Promise<ImageFile> {
  return engine.client.json({ method: "GET", path: `/images/${encodeURIComponent(image)}/json`, signal: never });
}

// An engine is shared with others, so that only what the test itself made counts, and goes.
async function watchInstalls(room: DockerRoom): Promise<() => Promise<readonly ImageRow[]>> {
  const before = new Set((await listInstalls(room)).map(({ Id }) => Id));
  const made = async (): Promise<readonly ImageRow[]> => (await listInstalls(room)).filter(({ Id }) => !before.has(Id));
  onTestFinished(async () => {
    for (const { Id } of await made())
      await room.engine.client.text({ method: "DELETE", path: `/images/${Id}`, query: { force: true }, signal: never });
  });
  return made;
}

const agentOf = (changes: Record<string, unknown> = {}): Record<string, unknown> => ({
  name: "agent",
  install,
  execute: "cat /opt/agent/version; ls -A /logs/agent; mkdir -p /app; touch /app/done",
  env: { TOKEN: "${TOKEN}", ROOM: randomUUID() },
  cache: true,
  ...changes,
});

describe("a cached install in containers:", () => {
  test("it is made once for all trials and the next job, and the image tells nothing of the agent", async (context) => {
    const room = await makeDockerRoom(context, { TOKEN: token });
    const made = await watchInstalls(room);
    await room.writeDockerJob({ a: plainTask, b: plainTask }, { agents: [agentOf()], n_concurrent_trials: 2 });
    const ran = await room.runJob();
    expect(ran.code, ran.stderr).toBe(0);
    const trials = await Promise.all(["a", "b"].map((name) => room.trial(`agent/tasks/${name}__1`)));
    expect(trials.map(({ agent_setup_cached: isCached }) => isCached).filter(Boolean)).toHaveLength(1);
    const outputs = await Promise.all(
      ["a", "b"].map((name) => room.read(`jobs/job/agent/tasks/${name}__1/command/stdout.txt`)),
    );
    expect(new Set(outputs.map((text) => text.split("\n")[0])).size).toBe(1);
    expect(outputs.filter((text) => text.includes("install.log"))).toHaveLength(1);

    const images = await made();
    expect(images).toHaveLength(1);
    const { Config } = await inspect(room, images[0]?.Id ?? "");
    const { Config: plain } = await inspect(room, base);
    expect(JSON.stringify(Config)).not.toContain(token);
    expect(Config["Env"]).toEqual(plain["Env"]);
    expect(Config["Cmd"] ?? []).toEqual(plain["Cmd"] ?? []);
    expect(Config["Entrypoint"] ?? []).toEqual(plain["Entrypoint"] ?? []);
    expect(Config["WorkingDir"] ?? "").toBe(plain["WorkingDir"] ?? "");
    expect(Config.Labels).toMatchObject({ "rollout.run": "none", "rollout.environment": "none" });

    const again = await room.runJob("--name", "again");
    expect(again.code, again.stderr).toBe(0);
    const next = await room.readJson<{ agent_setup_cached: boolean; environment: { image: string } }>(
      "jobs/again/agent/tasks/a__1/result.json",
    );
    expect(next.agent_setup_cached).toBe(true);
    expect(next.environment.image).toMatch(/^rollout-install:[0-9a-f]{40}$/);
    expect(await made()).toHaveLength(1);
  });

  test("one that wrote a secret into a file is not kept, and the job says which file", async (context) => {
    const room = await makeDockerRoom(context, { TOKEN: token });
    const made = await watchInstalls(room);
    const leak = 'mkdir -p ~/.config/deep; printf "key=%s" "$TOKEN" > ~/.config/deep/login';
    await room.writeDockerJob({ a: plainTask, b: plainTask }, { agents: [agentOf({ install: leak })] });
    await room.runJob();
    const { warnings } = await room.jobResult();
    expect(warnings.filter((text) => text.includes("not cached"))).toEqual([
      "the install of agent agent is not cached: it wrote the value of TOKEN to /root/.config/deep/login",
    ]);
    expect((await room.trial("agent/tasks/b__1")).agent_setup_cached).toBe(false);
    expect(await made()).toEqual([]);
  });

  test("what an install left in a volume of the image cannot be kept", async (context) => {
    const room = await makeDockerRoom(context, { TOKEN: token });
    const made = await watchInstalls(room);
    const dockerfile = `FROM ${base}\nVOLUME /opt/agent\n`;
    await room.writeDockerJob({ a: { ...plainTask, toml: "", dockerfile } }, { agents: [agentOf()] });
    expect(await room.runJob()).toMatchObject({ code: 0 });
    expect((await room.jobResult()).warnings.join("\n")).toContain("what it left in /opt/agent would be lost");
    expect(await made()).toEqual([]);
  });
});
