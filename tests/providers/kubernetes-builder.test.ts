import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, type TestContext } from "vitest";
import { runScript } from "../../src/environments/conformance/run-command.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { buildahImage, makeBuildahImage } from "../kubernetes-rig/builder-image.ts";
import { buildkitImages, makeBuildkitImage, whyNoBuildkit } from "../kubernetes-rig/buildkit-image.ts";
import { addresses } from "../kubernetes-rig/cluster-places.ts";
import { findCluster, testImage } from "../kubernetes-rig/find-cluster.ts";
import { importImage, publishImage } from "../kubernetes-rig/start-cluster.ts";
import { buildTask, makeLogins, needsOwnRegistry, privateLogins } from "./kubernetes/build-room.ts";
import { makeDirectory, openApi, openRoom, type ClusterRoom } from "./kubernetes/cluster-room.ts";
import { openCuttableWay } from "./kubernetes/cuttable-way.ts";
import { openAccount, roleOfGuide } from "./kubernetes/open-account.ts";

const never = new AbortController().signal;
const cluster = await findCluster();
const registry = `${addresses.privateRegistry}/evals`;
const base = `${addresses.privateRegistry}/base:1`;
const prepared = new Set<string>();

const rootBuilder = {
  name: "BuildKit with rights on its node",
  builder: { kind: "buildkit", image: buildkitImages.root, privileged: true },
  whyNot: () => whyNoBuildkit("root"),
  makeImage: () => makeBuildkitImage("root"),
};
const builders = [
  {
    name: "Buildah",
    builder: { kind: "buildah", image: buildahImage },
    whyNot: () => null,
    makeImage: makeBuildahImage,
  },
  rootBuilder,
  {
    name: "BuildKit without rights",
    builder: { kind: "buildkit", image: buildkitImages.rootless },
    whyNot: () => whyNoBuildkit("rootless"),
    makeImage: () => makeBuildkitImage("rootless"),
  },
];

async function prepareBuilder(context: TestContext, given: (typeof builders)[number]): Promise<void> {
  const { builder, whyNot, makeImage } = given;
  needsOwnRegistry(context, cluster);
  if (!prepared.has(builder.image)) {
    const reason = whyNot();
    if (reason !== null) cannotRun(context, reason);
    importImage(await makeImage());
    publishImage(testImage, "base:1");
    prepared.add(builder.image);
  }
}

describe.each(builders)("$name:", (given) => {
  const { builder } = given;
  const settings = { registry, registry_insecure: true, builder };
  const prepare = (context: TestContext): Promise<void> => prepareBuilder(context, given);

  async function openBuilderRoom(
    context: TestContext,
    changes: Record<string, unknown> = {},
    env = cluster.env,
  ): Promise<ClusterRoom> {
    await prepare(context);
    return openRoom({ ...env, DOCKER_CONFIG: await makeLogins() }, { ...settings, ...changes });
  }

  test("it builds and pushes with the Role of the guide, and no machine builds it again", async (context) => {
    await prepare(context);
    const { namespace, kubeconfig } = await openAccount(cluster.env, roleOfGuide());
    const api = await openApi(cluster.env);
    const data = { ".dockerconfigjson": Buffer.from(privateLogins).toString("base64") };
    const secret = { metadata: { name: "logins" }, type: "kubernetes.io/dockerconfigjson", data };
    await api.json({ method: "POST", path: `/api/v1/namespaces/${namespace}/secrets`, json: secret, signal: never });
    // Nobody has logged in on this machine: who pushes and who pulls is told by the secret alone.
    const env = { KUBECONFIG: kubeconfig, DOCKER_CONFIG: await makeDirectory() };
    const changes = { namespace, image_pull_secrets: ["logins"], builder: { ...builder, secret: "logins" } };
    const { provider, create } = await openRoom(env, { ...settings, ...changes });
    const word = randomUUID();
    const dockerfile = `FROM ${base}\nARG GREETING\nWORKDIR /made\nCOPY given* /made/\nRUN echo ${word} > word && id -u\n`;
    const { image, log } = await buildTask(provider, dockerfile, { files: { "given file": "given" } });
    expect(image).toMatch(/^10\.246\.0\.1:15001\/evals\/rollout-task:[0-9a-f]{24}$/);
    expect(log).toContain(`RUN echo ${word}`);
    const environment = await create({ image });
    const { stdout } = await runScript(environment, "pwd; cat word 'given file'", { signal: never });
    expect(stdout.toString()).toBe(`/made\n${word}\ngiven`);
    const other = await openBuilderRoom(context);
    const again = await buildTask(other.provider, dockerfile, { files: { "given file": "given" } });
    expect(again).toEqual({ image, log: `${image} is there already\n` });
  });

  test("it keeps to arguments, a target, .dockerignore, owners and modes", async (context) => {
    const word = `it's ${randomUUID()}`;
    const { provider } = await openBuilderRoom(context, { build: { args: { WORD: word }, target: "second" } });
    const dockerfile = [
      `FROM ${base} AS first`,
      "ARG WORD",
      'RUN echo "$WORD" > /word',
      `FROM ${base} AS second`,
      "WORKDIR /made",
      "COPY --from=first /word /made/",
      "COPY --chown=1234:5678 . /made/",
      "USER 4321:4321",
      "RUN id -u > /tmp/who",
      "FROM scratch AS third",
      "COPY nothing /",
    ].join("\n");
    const files = { kept: "kept", left: "left", ".dockerignore": "left\n" };
    const { image } = await buildTask(provider, dockerfile, { files });
    const { create } = await openRoom(cluster.env);
    // Through the other door, which asks nobody who comes.
    const environment = await create({ image: image.replace(addresses.privateRegistry, addresses.registry) });
    const script = "ls /made; cat /made/word /tmp/who; stat -c %u:%g /made/kept /made/word; stat -c %a /usr/bin/passwd";
    const { stdout } = await runScript(environment, script, { user: "root", signal: never });
    expect(stdout.toString()).toBe(`Dockerfile\nkept\nword\n${word}\n4321\n1234:5678\n0:0\n4755\n`);
  });

  test("a Dockerfile that fails says where, and no builder is left", async (context) => {
    const { provider } = await openBuilderRoom(context);
    const labels = { "rollout-test": randomUUID() };
    const building = buildTask(provider, `FROM ${base}\nRUN echo so far; exit 7\n`, { labels });
    await expect(building).rejects.toMatchObject({ code: "image_build_failed", transient: false });
    await expect(building).rejects.toThrow(/so far[^]*exit (status|code:) 7/);
    expect(await provider.findEnvironments(labels, never)).toEqual([]);
  });

  test("a registry that does not know us is told, with its words", async (context) => {
    await prepare(context);
    const { provider } = await openRoom({ ...cluster.env, DOCKER_CONFIG: await makeDirectory() }, settings);
    await expect(buildTask(provider, `FROM ${base}\nENV X=${randomUUID()}\n`)).rejects.toThrow(
      /^the base image \S+ cannot be had: .*(unauthorized|authentication required)/i,
    );
  });

  test("a builder carries the labels of its job, and is gone when its build is aborted", async (context) => {
    const { provider } = await openBuilderRoom(context);
    const labels = { "rollout-test": randomUUID() };
    const controller = new AbortController();
    const begun = Promise.withResolvers<void>();
    const building = buildTask(provider, `FROM ${base}\nRUN echo begun; sleep 600\n`, {
      labels,
      signal: controller.signal,
      onOutput: (text) => /\bbegun$/m.test(text) && begun.resolve(),
    });
    const ended = expect(building).rejects.toThrow("enough");
    await Promise.race([begun.promise, building]);
    expect(await provider.findEnvironments(labels, never)).toMatchObject([{ labels, isKept: false }]);
    controller.abort(new Error("enough"));
    await ended;
    expect(await provider.findEnvironments(labels, never)).toEqual([]);
  });

  test("a builder that somebody deletes is a fault of the infrastructure", async (context) => {
    const { provider } = await openBuilderRoom(context);
    const labels = { "rollout-test": randomUUID() };
    const begun = Promise.withResolvers<void>();
    const building = buildTask(provider, `FROM ${base}\nRUN echo begun; sleep 600\n`, {
      labels,
      onOutput: (text) => /\bbegun$/m.test(text) && begun.resolve(),
    });
    const ended = expect(building).rejects.toMatchObject({ code: "environment_lost", transient: true });
    await Promise.race([begun.promise, building]);
    const [found] = await provider.findEnvironments(labels, never);
    await provider.removeEnvironment(found?.id ?? "", never);
    await ended;
  });

  test("a build goes on while its connection is cut, and its log is whole", async (context) => {
    await prepare(context);
    const way = await openCuttableWay(cluster.env["KUBECONFIG"] ?? "", join(await makeDirectory(), "kubeconfig"));
    onTestFinished(() => way[Symbol.asyncDispose]());
    const { provider } = await openBuilderRoom(context, {}, { KUBECONFIG: way.kubeconfig });
    const count = "for i in 1 2 3 4 5 6; do echo line $i of six; sleep 0.7; done";
    const begun = Promise.withResolvers<void>();
    const building = buildTask(provider, `FROM ${base}\nRUN echo ${randomUUID()}; ${count}\n`, {
      onOutput: (text) => /line 1 of six$/m.test(text) && begun.resolve(),
    });
    await Promise.race([begun.promise, building]);
    way.cut();
    await sleep(1500);
    way.cut();
    const { log } = await building;
    expect(log.match(/line \d of six$/gm)).toEqual([1, 2, 3, 4, 5, 6].map((number) => `line ${number} of six`));
  });

  test("a builder that cannot be started is told as a setting", async (context) => {
    const changes = { builder: { ...builder, image: "rollout.test/nothing:1" }, pull: "never" };
    const { provider } = await openBuilderRoom(context, changes);
    await expect(buildTask(provider, "FROM scratch\n")).rejects.toMatchObject({ code: "config_invalid" });
  });
});

test("a BuildKit that lacks the rights to start is told as a setting, in its own words", async (context) => {
  await prepareBuilder(context, rootBuilder);
  const builder = { ...rootBuilder.builder, privileged: false };
  const env = { ...cluster.env, DOCKER_CONFIG: await makeLogins() };
  const { provider } = await openRoom(env, { registry, registry_insecure: true, builder });
  const building = buildTask(provider, `FROM ${base}\nRUN true\n`);
  await expect(building).rejects.toMatchObject({ code: "config_invalid", hint: expect.stringContaining("rootless") });
  await expect(building).rejects.toThrow(/^BuildKit cannot start in its Pod: .*without Rootless/);
});
