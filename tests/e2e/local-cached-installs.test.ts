import { randomUUID } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openLocalRig, rewarding, type LocalRoom } from "./local-rig.ts";

const rig = await openLocalRig();
const token = "canary-of-an-install-7f3a";
const env = { TOKEN: token };

const install = `set -e
echo "installing with $TOKEN"
mkdir -p /opt/agent && date +%s%N > /opt/agent/version && cp /opt/agent/version /tmp/in-tmp
echo mine > /logs/agent/install.log
printf '#!/bin/sh\\ncat /opt/agent/version\\n' > /usr/local/bin/my-agent && chmod 755 /usr/local/bin/my-agent
rm -f /etc/motd; echo fresh > /etc/motd`;
const execute = 'my-agent; cat /tmp/in-tmp /etc/motd; ls -A /logs/agent /tmp/.rollout; cat "$ROLLOUT_TASK_INSTRUCTION"';

async function makeCachedRoom(changes: Record<string, unknown> = {}, job = {}): Promise<LocalRoom> {
  // What one test leaves in the cache is none of the next one's.
  const variables = { TOKEN: "${TOKEN}", ROOM: randomUUID() };
  const agent = { name: "agent", install, execute, env: variables, cache: true, ...changes };
  const task = { instruction: "the task's own words", test: rewarding(1) };
  const room = await rig.makeRoom({ one: task, two: task }, { agents: [agent], n_attempts: 2, ...job });
  return { ...room, run: (args, options = {}) => room.run(args, { ...options, env: { ...env, ...options.env } }) };
}

const keys = ["one__1", "one__2", "two__1", "two__2"].map((name) => `agent/tasks/${name}`);

async function setups(room: LocalRoom): Promise<boolean[]> {
  return Promise.all(keys.map(async (key) => (await room.trial(key)).agent_setup_cached));
}

async function clean(room: LocalRoom, ...args: string[]): Promise<{ status: string; key: string }[]> {
  const noEngine = { DOCKER_HOST: `unix://${room.path("no-engine.sock")}` };
  const { stdout, code } = await room.run(["clean", "--json", "--cached-installs", ...args], { env: noEngine });
  expect(code).toBe(0);
  return (JSON.parse(stdout) as { cached_installs: { status: string; key: string }[] }).cached_installs;
}

async function warningsOf(room: LocalRoom): Promise<string[]> {
  return (await room.readJson<{ warnings: string[] }>("jobs/job/result.json")).warnings;
}

describe("a cached install on this machine", () => {
  test("is made once for trials at once and for the next job, and each trial finds it as a fresh one would", async () => {
    const room = await makeCachedRoom();
    const ran = await room.run(["job.yaml"]);
    expect(ran.code, ran.stderr).toBe(0);
    expect((await setups(room)).filter((isCached) => !isCached)).toHaveLength(1);
    const outputs = await Promise.all(keys.map((key) => room.read(`jobs/job/${key}/command/stdout.txt`)));
    const versions = new Set(outputs.map((text) => text.split("\n")[0]));
    expect(versions.size).toBe(1);
    for (const [index, text] of outputs.entries()) {
      const { agent_setup_cached: isCached, durations } = await room.trial(keys[index] ?? "");
      const own = isCached ? [] : ["install.log"];
      const logs = ["/logs/agent:", ...own, "", "/tmp/.rollout:", "execute.sh"];
      expect(text.trimEnd().split("\n").slice(1)).toEqual([[...versions][0], "fresh", ...logs, "the task's own words"]);
      expect(durations.agent_setup_sec).not.toBeNull();
      const said = await room.read(`jobs/job/${keys[index]}/setup/stdout.txt`);
      if (isCached) expect(said).toMatch(/^The install did not run in this trial: .*\(install-[0-9a-f]{40}\)\.\n$/);
      else expect(said).toBe("installing with [redacted:TOKEN]\n");
    }
    const again = await room.run(["job.yaml", "--name", "again"]);
    expect(again.code, again.stderr).toBe(0);
    const next = await room.readJson<{ agent_setup_cached: boolean }>(`jobs/again/${keys[0]}/result.json`);
    expect(next.agent_setup_cached).toBe(true);
    expect(await room.read(`jobs/again/${keys[0]}/command/stdout.txt`)).toContain([...versions][0]);
  });

  test("another value of a variable is another install, and the names tell nothing of either", async () => {
    const room = await makeCachedRoom();
    await room.run(["job.yaml"]);
    const before = (await clean(room, "--dry-run")).map(({ key }) => key);
    const other = await room.run(["job.yaml", "--name", "other"], { env: { TOKEN: "another-canary-1234" } });
    expect(other.code).toBe(0);
    expect(await clean(room, "--dry-run")).toHaveLength(before.length + 1);
    expect(statSync(join(rig.cacheDir, "install-key")).mode & 0o777).toBe(0o600);
    const images = join(rig.cacheDir, "local", "images");
    for (const file of readdirSync(images)) expect(readFileSync(join(images, file), "utf8")).not.toContain(token);
  });

  test("one that wrote a secret into a file is not kept, and the job says which file, once", async () => {
    const leak = 'mkdir -p ~/.config; printf "key=%s" "$(printf user:%s "$TOKEN" | base64)" > ~/.config/login';
    const room = await makeCachedRoom({ install: leak, execute: "test -s ~/.config/login" });
    const { code, stderr } = await room.run(["job.yaml"]);
    expect(code, stderr).toBe(0);
    expect(await setups(room)).toEqual([false, false, false, false]);
    expect((await warningsOf(room)).filter((text) => text.includes("not cached"))).toEqual([
      "the install of agent agent is not cached: it wrote the value of TOKEN to /root/.config/login",
    ]);
  });

  test.each([
    ["leaves something running", "sleep 1000 >/dev/null 2>&1 &", /it left .*sleep 1000.* running/],
    [
      "changes the shell",
      "cp /bin/bash /tmp/b; cp /tmp/b /bin/bash.new; mv /bin/bash.new /bin/bash",
      /it changed .*bash/,
    ],
  ])("one that %s is not kept", async (_what, script, warning) => {
    const room = await makeCachedRoom({ install: script, execute: "true" }, { n_attempts: 1 });
    await room.run(["job.yaml"]);
    expect((await room.trial(keys[2] ?? "")).agent_setup_cached).toBe(false);
    expect((await warningsOf(room)).filter((text) => warning.test(text))).toHaveLength(1);
  });

  test("what fails is not kept, and is tried again by the next job", async () => {
    const room = await makeCachedRoom({ install: `${install}\nexit 3` });
    expect((await room.run(["job.yaml"])).code).toBe(3);
    expect(await setups(room)).toEqual([false, false, false, false]);
    expect((await room.trial(keys[0] ?? "")).error?.type).toBe("agent_install_failed");
  });

  test("a disk in memory cannot do it, which is said before the start", async () => {
    const storage = { environment: { type: "local", provider_config: { storage: "memory" } } };
    const room = await makeCachedRoom({}, storage);
    const { code, stderr } = await room.run(["job.yaml"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(/agents\[0\]\.cache: environment "local" cannot save an install/);
    expect(existsSync(room.path("jobs"))).toBe(false);
  });

  test("two processes at once are safe, and clean takes away what nothing uses", async () => {
    const room = await makeCachedRoom({ install: `${install}\nsleep 0.5; echo both > /opt/agent/both` });
    const both = ["first", "second"].map((name) => room.run(["job.yaml", "--name", name]));
    for (const ended of both) expect((await ended).code).toBe(0);
    const found = await clean(room, "--dry-run");
    expect(found.length).toBeGreaterThan(0);
    expect(found.every(({ status }) => status === "would_be_removed")).toBe(true);
    expect((await clean(room)).every(({ status }) => status === "removed")).toBe(true);
    expect(await clean(room)).toEqual([]);
    expect((await room.run(["job.yaml", "--name", "third"])).code).toBe(0);
  });
});
