import { spawnSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, type TestContext } from "vitest";
import { collect, runScript } from "../../src/environments/conformance/run-command.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findProgram } from "../engines/install-packages.ts";
import { addresses, adminKubeconfig, cacheDir } from "../kubernetes-rig/cluster-places.ts";
import { findCluster, testImage } from "../kubernetes-rig/find-cluster.ts";
import { makeDirectory, openRoom, testLimits, type ClusterRoom } from "./kubernetes/cluster-room.ts";

const never = new AbortController().signal;
const cluster = await findCluster();
const settings = { registry: `${addresses.registry}/evals`, registry_insecure: true, build: { with: "podman" } };

// A room of podman's own, so that nothing of the machine's is used or changed.
async function openBuildRoom(context: TestContext): Promise<ClusterRoom> {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  if (cluster.env["KUBECONFIG"] !== adminKubeconfig)
    cannotRun(context, "only our own cluster has a registry for the tests");
  const podman = findProgram("podman");
  if (podman === null) cannotRun(context, "podman is not installed");
  const directory = await makeDirectory();
  const storage = join(directory, "storage.conf");
  await writeFile(
    storage,
    `[storage]\ndriver = "vfs"\ngraphroot = "${directory}/data"\nrunroot = "${directory}/run"\n`,
  );
  const env = { CONTAINERS_STORAGE_CONF: storage, TMPDIR: directory };
  const loading = spawnSync(podman, ["load", "-q", "-i", join(cacheDir, "debian.tar")], {
    env: { ...process.env, ...env },
  });
  if (loading.status !== 0)
    cannotRun(context, `podman cannot load the base image: ${loading.stderr.toString("utf8").trim()}`);
  return openRoom({ ...cluster.env, ...env }, settings);
}

async function buildTask({ provider }: ClusterRoom, dockerfile: string): Promise<{ image: string; log: string }> {
  const contextDir = join(await makeDirectory(), "environment");
  await mkdir(contextDir);
  await writeFile(join(contextDir, "Dockerfile"), dockerfile);
  const task = { taskName: "t", contextDir, dockerImage: null, forceBuild: false, limits: testLimits };
  const { image: plan, problems } = await provider.checkTask(task, never);
  if (plan?.kind !== "build") throw new Error(problems.join("; "));
  const output = collect();
  return { image: await provider.buildImage({ plan, output, labels: {}, signal: never }), log: output.text() };
}

test("a Dockerfile is built, pushed and run, and not built again where the registry has it", async (context) => {
  const room = await openBuildRoom(context);
  const dockerfile = `FROM ${testImage}\nWORKDIR /made\nENV WORD=${Date.now()}\nCOPY Dockerfile /made/copy\nUSER 1234\n`;
  const { image, log } = await buildTask(room, dockerfile);
  expect(image).toMatch(/^127\.0\.0\.1:15000\/evals\/rollout-task:[0-9a-f]{24}$/);
  expect(log).not.toContain("is there already");
  const environment = await room.create({ image, place: [{ kind: "directory", target: "/logs" }] });
  expect(environment.workdir).toBe("/made");
  const { stdout } = await runScript(environment, 'id -u; test -n "$WORD" && cat /made/copy; touch /logs/x', {
    signal: never,
  });
  expect(stdout.toString()).toBe(`1234\n${dockerfile}`);
  expect((await buildTask(room, dockerfile)).log).toContain("is there already");
});

test("a Dockerfile that fails says where", async (context) => {
  const room = await openBuildRoom(context);
  const building = buildTask(room, `FROM ${testImage}\nCOPY missing /there\n`);
  await expect(building).rejects.toMatchObject({ code: "image_build_failed", transient: false });
  await expect(building).rejects.toThrow(/missing/);
});

test("a Dockerfile without a registry makes a task that cannot run", async () => {
  const { provider } = await openRoom({ KUBECONFIG: "/nowhere" });
  const contextDir = await makeDirectory();
  await writeFile(join(contextDir, "Dockerfile"), "FROM scratch\n");
  const task = { taskName: "t", contextDir, dockerImage: null, forceBuild: false, limits: testLimits };
  const { problems, image } = await provider.checkTask(task, never);
  expect(image).toBeNull();
  expect(problems.join()).toContain("provider_config.registry");
});
