import { expect, test } from "vitest";
import type { Pod } from "./pod.ts";
import { endOf } from "./pod-life.ts";

function podWith(status: object, metadata: object = {}): Pod {
  return { metadata: { name: "pod", ...metadata }, status };
}

const terminated = { containerStatuses: [{ name: "main", state: { terminated: { exitCode: 143, reason: "Error" } } }] };
const target = (reason: string) => [{ type: "DisruptionTarget", status: "True", reason, message: "words" }];

test("a Pod that runs has not ended", () => {
  expect(endOf(podWith({ phase: "Running" }))).toBeNull();
});

test.for([
  ["Pod ephemeral local storage usage exceeds the total limit of containers 10Mi. ", "storage"],
  ['Container main exceeded its local ephemeral storage limit "10Mi". ', "storage"],
  ['Usage of EmptyDir volume "trial-logs" exceeds the limit "10Mi". ', "storage"],
  ["The node was low on resource: ephemeral-storage. Threshold quantity: 1, available: 0. ", null],
] as const)("an eviction with the words %s is by its own limit: %s", ([message, overLimit]) => {
  const end = endOf(podWith({ phase: "Failed", reason: "Evicted", message, ...terminated }));
  expect(end).toMatchObject({ overLimit, isPassing: overLimit === null });
  expect(end?.words).toContain(message.trim());
});

test.for([
  ["PreemptionByScheduler", {}],
  ["DeletionByTaintManager", { deletionTimestamp: "2026-01-01T00:00:00Z" }],
  ["EvictionByEvictionAPI", { deletionTimestamp: "2026-01-01T00:00:00Z" }],
] as const)("the reason of a disruption is told: %s", ([reason, metadata]) => {
  const phase = "deletionTimestamp" in metadata ? "Running" : "Failed";
  const end = endOf(podWith({ phase, conditions: target(reason) }, metadata));
  expect(end).toMatchObject({ overLimit: null, isPassing: true });
  expect(end?.words).toContain(`${reason}: words`);
});

test("a Pod that has lived as long as it may is not worth another", () => {
  const end = endOf(podWith({ phase: "Failed", reason: "DeadlineExceeded", ...terminated }));
  expect(end).toMatchObject({ overLimit: null, isPassing: false });
});
