import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runScript } from "../../src/environments/conformance/run-command.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findCluster } from "../kubernetes-rig/find-cluster.ts";
import { makeDirectory, openRoom } from "./kubernetes/cluster-room.ts";

const signal = new AbortController().signal;
const cluster = await findCluster();

test("what a Pod of a known image is given is there before anybody looks", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const { create } = await openRoom(cluster.env);
  await create();
  const place = [
    { kind: "directory", target: "/logs/agent" },
    { kind: "file", target: "/logs/given", content: "given", mode: 0o644 },
  ] as const;
  const [read, ran] = await Promise.all([create({ place }), create({ place })]);
  const target = join(await makeDirectory(), "logs");
  await read.copyFrom({ source: "/logs", target, signal });
  expect(await readFile(join(target, "given"), "utf8")).toBe("given");
  expect((await runScript(ran, "cat /logs/given", { signal })).stdout.toString()).toBe("given");
});

test("a removal that waits for what comes next takes nothing away that comes later", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const { create } = await openRoom(cluster.env);
  const environment = await create({ place: [{ kind: "file", target: "/tmp/old", content: "old", mode: 0o644 }] });
  const exists = async (path: string): Promise<boolean> =>
    (await runScript(environment, `[ -e ${path} ]`, { signal })).exitCode === 0;
  await environment.copyTo([{ kind: "remove", target: "/tmp/old" }], signal);
  expect(await exists("/tmp/old")).toBe(false);
  await environment.copyTo([{ kind: "remove", target: "/tmp/new" }], signal);
  await environment.copyTo([{ kind: "file", target: "/tmp/new", content: "new", mode: 0o644 }], signal);
  expect(await exists("/tmp/new")).toBe(true);
  await environment.copyTo([{ kind: "remove", target: "/tmp/new" }], signal);
  const target = join(await makeDirectory(), "new");
  await expect(environment.copyFrom({ source: "/tmp/new", target, signal })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("small files travel with the next command, large ones before it, in the order in which they were given", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const { create } = await openRoom(cluster.env);
  const environment = await create();
  const place = (content: string): Promise<void> =>
    environment.copyTo([{ kind: "file", target: "/tmp/deep/file", content, mode: 0o644 }], signal);
  const read = async (): Promise<string> =>
    (await runScript(environment, "cat /tmp/deep/file", { signal })).stdout.toString();
  await place("small");
  await place("small again, größe");
  expect(await read()).toBe("small again, größe");
  const large = "large\n".repeat(100_000);
  await place("small");
  await place(large);
  expect(await read()).toBe(large);
  await place(large);
  await place("small at last");
  expect(await read()).toBe("small at last");
});

test("a Pod that cannot take files with a command takes them before it, and what it refuses is told", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const { create } = await openRoom(cluster.env);
  const environment = await create();
  await runScript(environment, "rm -f /usr/bin/base64", { signal });
  await environment.copyTo([{ kind: "file", target: "/tmp/file", content: "there", mode: 0o644 }], signal);
  expect((await runScript(environment, "cat /tmp/file", { signal })).stdout.toString()).toBe("there");
  await environment.copyTo([{ kind: "file", target: "/proc/nowhere/file", content: "", mode: 0o644 }], signal);
  await expect(runScript(environment, "true", { signal })).rejects.toMatchObject({ code: "copy_failed" });
  expect((await runScript(environment, "echo on", { signal })).stdout.toString()).toBe("on\n");
});
