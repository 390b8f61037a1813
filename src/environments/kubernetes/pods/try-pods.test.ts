import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { systemClock } from "../../../base/clock.ts";
import { KubeClient } from "../connection/kube-client.ts";
import { kubernetesConfigSchema } from "../kubernetes-config-schema.ts";
import { tryPods } from "./try-pods.ts";

const { signal } = new AbortController();
const limits = { cpus: 1, memoryBytes: 2 ** 20, storageBytes: 2 ** 20 };
const pods = ["one", "two", "three"].map((image) => ({ image, limits }));
const podsPath = "/api/v1/namespaces/evals/pods";
const forbidden = (words: string): [number, string] => [403, `pods "NAME" is forbidden: ${words}`];
const invalid = (words: string): [number, string] => [422, `Pod "NAME" is invalid: ${words}`];

/** What is heard of Pods by an API server that gives these answers, the last one for good, and how often it was asked. */
async function hear(...answers: [number, string][]): Promise<[string | null, number]> {
  let asked = 0;
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = Buffer.concat(await request.toArray()).toString("utf8");
    const { metadata } = JSON.parse(text) as { metadata: { name: string } };
    const [status, words] = answers[Math.min(asked++, answers.length - 1)] ?? [201, ""];
    response.writeHead(status).end(JSON.stringify({ message: words.replace("NAME", metadata.name) }));
  };
  const server = createServer((request, response) => void answer(request, response));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const endpoint = {
    server: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ca: null,
    isVerified: true,
    serverName: null,
    credentials: { get: async () => ({ token: null, cert: null, key: null }), forget: () => {} },
    namespace: "evals",
    origin: "the test",
    kubectlOptions: [],
  };
  using client = new KubeClient({
    endpoint,
    clock: systemClock,
    pace: { callsPerSecond: 100, burst: 100 },
    patienceMs: 0,
  });
  const ground = { client, clock: systemClock, config: kubernetesConfigSchema.parse({}), podsPath, session: "s" };
  return [await tryPods(ground, pods, signal), asked];
}

test("one Pod that is taken is enough", async () => {
  expect(await hear([201, ""])).toEqual([null, 1]);
  expect(await hear(invalid("spec.x: Invalid"), [201, ""])).toEqual([null, 2]);
});

test("what is refused for each of them is told in the words for the first", async () => {
  expect(await hear(invalid("spec.x: Invalid"), invalid("spec.y: Invalid"))).toEqual([
    "Pod is invalid: spec.x: Invalid",
    3,
  ]);
});

test("a setting that is the same for all is not asked about again", async () => {
  const words = 'error looking up service account evals/none: serviceaccount "none" not found';
  expect(await hear(forbidden(words))).toEqual([words, 1]);
});

test.for([
  [503, "the server is busy"],
  [500, "failed calling webhook"],
  [429, "too many requests"],
  [409, "the object has been modified"],
  forbidden("exceeded quota: few, requested: pods=1, used: pods=1, limited: pods=1"),
  [400, 'admission webhook "a" does not support dry run'],
  invalid("spec.containers[0].image: Invalid value"),
] as const)("an answer of %i with %s is no refusal", async (answer) => {
  expect(await hear([...answer])).toEqual([null, 1]);
});
