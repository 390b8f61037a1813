import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openLocalRig, rewarding } from "./local-rig.ts";

const rig = await openLocalRig();
const layers = (): string[] => readdirSync(join(rig.environmentDir(".."), "layers"));

describe("two jobs at once that share the cache", () => {
  const built = (word: string) => ({
    dockerfile: `FROM debian\nWORKDIR /work\nRUN sleep 0.5; echo ${word} > built\nRUN sleep 0.5; echo twice >> built\n`,
    test: `[ "$(cat /work/built)" = "${word}\ntwice" ] && ${rewarding(1)}`,
  });

  test("both build the same Dockerfile, and each layer is there once", async () => {
    const rooms = [
      await rig.makeRoom({ a: built("same"), b: {} }, { n_attempts: 2 }),
      await rig.makeRoom({ a: built("same") }),
    ];
    const ends = await Promise.all(rooms.map((room) => room.run(["job.yaml"])));
    expect(ends.map(({ code, stderr }) => (code === 0 ? code : stderr))).toEqual([0, 0]);
    for (const room of rooms) expect(await room.trial("agent/tasks/a__1")).toMatchObject({ reward: 1, tries: 1 });
    expect(layers()).toHaveLength(3);
    expect([...rig.processes(), ...rig.environments(), ...rig.debris()]).toEqual([]);
  });

  test("one that is killed in the build does not disturb the other", async () => {
    const rooms = [await rig.makeRoom({ a: built("other") }), await rig.makeRoom({ a: built("other") })];
    const [killed, other] = rooms.map((room) => room.start(["job.yaml"]));
    await killed?.until(
      "both build",
      () => rig.environments().filter((id) => id.startsWith("local-build")).length === 2,
    );
    killed?.kill("SIGKILL");
    expect(await other?.ended).toMatchObject({ code: 0 });
    expect(await rooms[1]?.trial("agent/tasks/a__1")).toMatchObject({ reward: 1 });
    await rig.startAgain();
    expect([...rig.processes(), ...rig.environments(), ...rig.debris()]).toEqual([]);
  });
});

describe("what a result says of its environment", () => {
  test("provider, base, isolation, limits and what differs from what the task asked for", async () => {
    const tasks = {
      image: { toml: '[environment]\ndocker_image = "python:3.13"\ncpus = 2\nmemory = "1Gi"\nstorage = "5G"\n' },
      dockerfile: { dockerfile: "FROM ubuntu:24.04\nRUN true\n" },
      both: { toml: '[environment]\ndocker_image = "node:24"\n', dockerfile: "FROM alpine AS base\nRUN true\n" },
      neither: {},
    };
    const room = await rig.makeRoom(tasks);
    const { code, stderr } = await room.run(["job.yaml"]);
    expect(code).toBe(0);
    expect(stderr).toContain("docker_image python:3.13 is not used: tasks run on this machine");
    const facts = await Promise.all(
      Object.keys(tasks).map(async (name) => (await room.trial(`agent/tasks/${name}__1`)).environment),
    );
    const bounded = process.getuid?.() === 0 ? "enforced" : "advisory";
    expect(facts[0]).toEqual({
      provider: "local",
      base: { kind: "host", description: expect.stringMatching(/./), key: expect.stringMatching(/^host-/) },
      isolation: {
        kind: "namespaces",
        ids: expect.stringMatching(/./),
        namespaces: ["user", "mount", "pid", "ipc", "uts"],
        network: "host",
        shared: ["kernel", "network"],
        storage: "disk",
      },
      limits: {
        cpus: { value: 2, enforcement: bounded },
        memory: { bytes: 2 ** 30, enforcement: bounded },
        pids: { value: 4096, enforcement: bounded },
        storage: { bytes: 5e9, enforcement: "advisory" },
      },
      deviations: [{ asked: "docker_image python:3.13", done: expect.stringMatching(/./) }],
    });
    const asked = facts.map((fact) =>
      ((fact?.["deviations"] ?? []) as { asked: string }[]).map((deviation) => deviation.asked),
    );
    expect(asked).toEqual([
      ["docker_image python:3.13"],
      ["FROM ubuntu:24.04"],
      ["FROM alpine", "docker_image node:24"],
      [],
    ]);
  });

  test("a network that was taken and a disk in memory are among it", async () => {
    const room = await rig.makeRoom(
      { one: { test: `(exec 3<>/dev/tcp/192.0.2.1/9) 2>/dev/null || ${rewarding(1)}` } },
      {
        environment: {
          type: "local",
          network: { agent: "none", verifier: "none" },
          provider_config: { storage: "memory" },
        },
      },
    );
    expect(await room.run(["job.yaml"])).toMatchObject({ code: 0 });
    expect((await room.trial("agent/tasks/one__1")).environment).toMatchObject({
      isolation: {
        namespaces: expect.arrayContaining(["net"]),
        network: "none",
        shared: ["kernel"],
        storage: "memory",
      },
      limits: { storage: { enforcement: "enforced" } },
      deviations: [],
    });
  });
});
