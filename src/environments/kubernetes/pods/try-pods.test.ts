import { expect, test } from "vitest";
import { systemClock } from "../../../base/clock.ts";
import { kubernetesConfigSchema } from "../kubernetes-config-schema.ts";
import { openAnswers, type Answer } from "../testing/open-answers.ts";
import { tryPods } from "./try-pods.ts";

const { signal } = new AbortController();
const limits = { cpus: 1, memoryBytes: 2 ** 20, storageBytes: 2 ** 20 };
const pods = ["one", "two", "three"].map((image) => ({ image, limits }));
const podsPath = "/api/v1/namespaces/evals/pods";
const forbidden = (words: string): Answer => [403, `pods "NAME" is forbidden: ${words}`];
const invalid = (words: string): Answer => [422, `Pod "NAME" is invalid: ${words}`];

/** What is heard of Pods by an API server that gives these answers, and how often it was asked. */
async function hear(...answers: Answer[]): Promise<[string | null, number]> {
  await using server = await openAnswers(answers);
  const { client } = server;
  const ground = { client, clock: systemClock, config: kubernetesConfigSchema.parse({}), podsPath, session: "s" };
  return [await tryPods(ground, pods, signal), server.asked];
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
  expect(await hear(answer)).toEqual([null, 1]);
});
