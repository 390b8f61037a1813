import { expect, test } from "vitest";
import { systemClock } from "../../../base/clock.ts";
import { openAnswers, type Answer } from "../testing/open-answers.ts";
import { createPod } from "./create-pod.ts";

const { signal } = new AbortController();
const contended: Answer = [409, 'Operation cannot be fulfilled on resourcequotas "few"', "Conflict"];
const tooLarge: Answer = [
  403,
  'pods "NAME" is forbidden: exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0',
  "Forbidden",
];

async function create(...answers: Answer[]): Promise<{ readonly name: string; readonly waits: readonly string[] }> {
  await using server = await openAnswers(answers);
  const ground = { client: server.client, clock: systemClock, podsPath: "/pods", session: "s" };
  const waits: string[] = [];
  const body = { metadata: { name: "pod" } };
  const pod = await createPod(ground, { body, name: "pod", signal, onWait: (words) => waits.push(words) });
  return { name: pod.metadata.name, waits };
}

test("a quota that is counted by others at the same moment is asked again", async () => {
  expect(await create(contended, contended, [201, ""])).toEqual({ name: "pod", waits: [] });
});

test("a quota that is less than the Pod asks for is not waited for", async () => {
  await expect(create(tooLarge)).rejects.toMatchObject({ code: "resource_allocation_failed", transient: false });
});
