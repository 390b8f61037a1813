import { expect, test } from "vitest";
import { isRoomExpected } from "./is-room-expected.ts";
import type { Pod } from "./pod.ts";

const placed: Pod = { metadata: { name: "other" }, spec: { nodeName: "node" }, status: { phase: "Running" } };
const full = "waits for a node: 0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available:";
const busy = `${full} 1 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling.`;

test.for([
  ["another of ours has a node", [placed], busy, true],
  ["another of ours starts on a node", [{ ...placed, status: { phase: "Pending" } }], busy, true],
  ["it is alone", [{ ...placed, metadata: { name: "own" } }], busy, false],
  ["another of ours waits as well", [{ metadata: { name: "other" }, status: { phase: "Pending" } }], busy, false],
  ["another of ours has ended", [{ ...placed, status: { phase: "Failed" } }], busy, false],
  ["another was kept", [{ ...placed, metadata: { name: "other", labels: { "rollout.kept": "true" } } }], busy, false],
  ["no node would fit it", [placed], `${full} 3 Preemption is not helpful for scheduling.`, false],
  ["no scheduler has said anything", [placed], "", true],
] as const)("room while %s", ([, pods, words, isExpected]) => {
  expect(isRoomExpected({ pods }, "own", words)).toBe(isExpected);
});
