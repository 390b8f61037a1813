import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, type TestContext } from "vitest";
import { runScript } from "../../src/environments/conformance/run-command.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findEngines } from "../engines/find-engines.ts";
import { findProgram } from "../engines/install-packages.ts";
import { unpackBuildah } from "../kubernetes-rig/builder-image.ts";
import { addresses, cacheDir } from "../kubernetes-rig/cluster-places.ts";
import { findCluster, testImage } from "../kubernetes-rig/find-cluster.ts";
import { buildTask, makeLogins, needsOwnRegistry, privateLogins } from "./kubernetes/build-room.ts";
import { makeDirectory, openApi, openRoom, testLimits, type ClusterRoom } from "./kubernetes/cluster-room.ts";

const never = new AbortController().signal;
const cluster = await findCluster();
const [docker] = await findEngines();
type Builder = "docker" | "podman" | "buildah";

// A room of the builder's own, so that nothing of the machine's is used or changed.
async function openBuildRoom(
  context: TestContext,
  builder: Builder,
  build: Record<string, unknown> = { with: builder },
): Promise<ClusterRoom> {
  needsOwnRegistry(context, cluster);
  const settings = { registry_insecure: true, build };
  if (builder === "docker") {
    if (docker?.reason !== null) cannotRun(context, docker?.reason ?? "there is no Docker");
    if (findProgram("docker") === null) cannotRun(context, "the docker command is not installed");
    // Docker speaks to no registry in plain but those of its own machine.
    return openRoom({ ...cluster.env, ...docker?.env }, { ...settings, registry: `${addresses.registry}/evals` });
  }
  if (builder === "podman" && findProgram("podman") === null) cannotRun(context, "podman is not installed");
  const directory = await makeDirectory();
  const logins = await makeLogins();
  const env = {
    ...(await writeStorage(directory)),
    ...(builder === "buildah" ? buildahVariables() : {}),
    DOCKER_CONFIG: logins,
    DOCKER_HOST: "unix:///nowhere/docker.sock",
    REGISTRY_AUTH_FILE: join(logins, "config.json"),
    TMPDIR: directory,
    HOME: directory,
  };
  const archive = join(cacheDir, "debian.tar");
  const words =
    builder === "podman"
      ? ["podman", "load", "-q", "-i", archive]
      : ["buildah", "pull", "-q", `docker-archive:${archive}`];
  const loading = spawnSync(words[0] ?? "", words.slice(1), { env: { ...process.env, ...env }, encoding: "utf8" });
  if (loading.status !== 0) cannotRun(context, `${builder} cannot load the base image: ${loading.stderr?.trim()}`);
  return openRoom({ ...cluster.env, ...env }, { ...settings, ...(await privateSettings()) });
}

async function writeStorage(directory: string): Promise<Record<string, string>> {
  const storage = join(directory, "storage.conf");
  const text = `[storage]\ndriver = "vfs"\ngraphroot = "${directory}/data"\nrunroot = "${directory}/run"\n`;
  await writeFile(storage, text);
  return { CONTAINERS_STORAGE_CONF: storage };
}

function buildahVariables(): Record<string, string> {
  const root = unpackBuildah();
  const libraries = `${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`;
  return {
    PATH: `${join(root, "usr/bin")}:${process.env["PATH"]}`,
    LD_LIBRARY_PATH: join(root, "usr/lib", libraries),
    BUILDAH_ISOLATION: "chroot",
  };
}

// The private registry, with what a node needs to pull from it.
async function privateSettings(): Promise<Record<string, unknown>> {
  const api = await openApi(cluster.env);
  const data = { ".dockerconfigjson": Buffer.from(privateLogins).toString("base64") };
  const json = { metadata: { name: "rollout-logins" }, type: "kubernetes.io/dockerconfigjson", data };
  await api.json({ method: "POST", path: "/api/v1/namespaces/default/secrets", json, signal: never }).catch(() => {});
  return { registry: `${addresses.privateRegistry}/evals`, image_pull_secrets: ["rollout-logins"] };
}

test.for(["podman", "buildah", "docker"] as const)(
  "a Dockerfile is built by %s, pushed and run, and not built again where the registry has it",
  async (builder, context) => {
    const room = await openBuildRoom(context, builder);
    const dockerfile = `FROM ${testImage}\nWORKDIR /made\nENV WORD=${Date.now()}\nCOPY Dockerfile /made/copy\nUSER 1234\n`;
    const { image, log } = await buildTask(room.provider, dockerfile);
    expect(image).toMatch(/:1500[01]\/evals\/rollout-task:[0-9a-f]{24}$/);
    expect(log).not.toContain("is there already");
    const environment = await room.create({ image, place: [{ kind: "directory", target: "/logs" }] });
    expect(environment.workdir).toBe("/made");
    const { stdout } = await runScript(environment, 'id -u; test -n "$WORD" && cat /made/copy; touch /logs/x', {
      signal: never,
    });
    expect(stdout.toString()).toBe(`1234\n${dockerfile}`);
    expect((await buildTask(room.provider, dockerfile)).log).toContain("is there already");
  },
);

test("a docker without its engine is passed over for a builder that works", async (context) => {
  if (findProgram("docker") === null) cannotRun(context, "the docker command is not installed");
  const { provider } = await openBuildRoom(context, "podman", {});
  const dockerfile = `FROM ${testImage}\nENV WORD=${Date.now()}\n`;
  expect((await buildTask(provider, dockerfile)).log).not.toMatch(/docker daemon/i);
});

test("a Dockerfile that fails says where", async (context) => {
  const { provider } = await openBuildRoom(context, "podman");
  const building = buildTask(provider, `FROM ${testImage}\nCOPY missing /there\n`);
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
