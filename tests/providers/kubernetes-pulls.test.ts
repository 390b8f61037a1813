import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test, type TestContext } from "vitest";
import { runScript } from "../../src/environments/conformance/run-command.ts";
import { addresses } from "../kubernetes-rig/cluster-places.ts";
import { findCluster, testImage } from "../kubernetes-rig/find-cluster.ts";
import { publishImage } from "../kubernetes-rig/start-cluster.ts";
import { needsOwnRegistry, privateLogins } from "./kubernetes/build-room.ts";
import { openApi, openRoom, type ClusterRoom } from "./kubernetes/cluster-room.ts";
import { failureOf } from "./kubernetes/failure-of.ts";

const never = new AbortController().signal;
const cluster = await findCluster();
const secrets = "/api/v1/namespaces/default/secrets";

// A name that no node has pulled before, behind the door that wants a login.
function publishPrivate(context: TestContext): string {
  needsOwnRegistry(context, cluster);
  return `${addresses.privateRegistry}/${publishImage(testImage, `pulls:${randomUUID()}`)}`;
}

async function makeSecret(name: string, logins: string): Promise<void> {
  const api = await openApi(cluster.env);
  const data = { ".dockerconfigjson": Buffer.from(logins).toString("base64") };
  const json = { metadata: { name }, type: "kubernetes.io/dockerconfigjson", data };
  await api.json({ method: "POST", path: secrets, json, signal: never });
  onTestFinished(async () => {
    const gone = await openApi(cluster.env);
    await gone.json({ method: "DELETE", path: `${secrets}/${name}`, signal: never }).catch(() => {});
  });
}

test("an image that its registry does not have fails at the first answer", async (context) => {
  needsOwnRegistry(context, cluster);
  const { create } = await openRoom(cluster.env);
  const error = await failureOf(create({ image: `${addresses.registry}/nobody/made:this` }));
  expect(error).toMatchObject({ code: "image_pull_failed", transient: false });
  expect(error.message).toMatch(/ErrImagePull.*not found/);
});

test("a node without a login is refused for good at the first answer", async (context) => {
  const image = publishPrivate(context);
  const { create } = await openRoom(cluster.env);
  const error = await failureOf(create({ image }));
  expect(error).toMatchObject({ code: "image_pull_failed", transient: false });
  expect(error.message).toMatch(/ErrImagePull.*401 Unauthorized/);
  expect(error.hint).toContain("image_pull_secrets");
});

test("a login that the registry does not take is told when it has refused it twice", async (context) => {
  const image = publishPrivate(context);
  const name = `wrong-${randomUUID()}`;
  await makeSecret(name, privateLogins.replace(/"auth":"[^"]+"/, `"auth":"${btoa("evals:wrong")}"`));
  const { create, words } = await openListeningRoom({ image_pull_secrets: [name] });
  const error = await failureOf(create({ image }));
  expect(error).toMatchObject({ code: "image_pull_failed", transient: false });
  expect(error.hint).toContain("pull secrets");
  expect(words.filter((line) => line.includes("ErrImagePull"))).not.toEqual([]);
  expect(words.filter((line) => line.includes("ImagePullBackOff"))).not.toEqual([]);
});

test("a node that has not seen the secret when it first pulls is given time to see it", async (context) => {
  const image = publishPrivate(context);
  const name = `late-${randomUUID()}`;
  const { create, refused } = await openListeningRoom({ image_pull_secrets: [name] });
  const creating = create({ image });
  expect(await Promise.race([refused, creating.then(() => "it was pulled without a login")])).toContain("401");
  await makeSecret(name, privateLogins);
  expect((await runScript(await creating, "echo on", { signal: never })).stdout.toString()).toBe("on\n");
});

interface ListeningRoom extends ClusterRoom {
  /** All that the log was told. */
  readonly words: readonly string[];
  /** The first word of a pull that was refused. */
  readonly refused: Promise<string>;
}

async function openListeningRoom(config: Record<string, unknown>): Promise<ListeningRoom> {
  const words: string[] = [];
  const { promise: refused, resolve } = Promise.withResolvers<string>();
  const log = {
    write(_level: string, line: string) {
      words.push(line);
      if (line.includes("ErrImagePull")) resolve(line);
    },
  };
  return { ...(await openRoom(cluster.env, config, log)), words, refused };
}
