import { expect, test } from "vitest";
import type { Pod } from "./pod.ts";
import { podName, selectorOf } from "./pod-labels.ts";
import { startStep } from "./pod-start.ts";
import { pullAnswer } from "./pull-answer.ts";

function podWith(state: object, more: object = {}): Pod {
  const conditions = [{ type: "PodScheduled", status: "True" }];
  const status = { phase: "Pending", conditions, containerStatuses: [{ name: "main", state }], ...more };
  return { metadata: { name: "pod" }, status };
}

test.for([
  [{ waiting: { reason: "ErrImagePull", message: "manifest unknown: no such tag" } }, "image_pull_failed", false],
  [{ waiting: { reason: "ImagePullBackOff", message: "dial tcp: connection refused" } }, "image_pull_failed", true],
  [{ waiting: { reason: "CreateContainerConfigError", message: "secret not found" } }, "config_invalid", false],
  [{ waiting: { reason: "CrashLoopBackOff", message: "" } }, "environment_start_failed", false],
  [{ terminated: { reason: "StartError", message: 'exec: "sh": executable file not found' } }, "task_unfit", false],
  [{ terminated: { reason: "OOMKilled", exitCode: 137 } }, "task_unfit", false],
  [{ terminated: { reason: "Error", exitCode: 5 } }, "task_unfit", false],
  [{ terminated: { reason: "Error", exitCode: 143 } }, "environment_start_failed", true],
  [
    { terminated: { reason: "StartError", message: "error reading from server: EOF" } },
    "environment_start_failed",
    true,
  ],
] as const)("%o does not start, and why is told", ([state, code, transient]) => {
  const step = startStep(podWith(state), "trial");
  expect(step.kind === "failed" ? { code: step.error.code, transient: step.error.transient } : step).toEqual({
    code,
    transient,
  });
});

test.for([
  ["a pull that may be the network's fault", "ErrImagePull", "dial tcp: i/o timeout"],
  ["a runtime that is away", "ImageInspectError", "rpc error: code = Unavailable desc = connection error"],
  [
    "a runtime that goes away",
    "CreateContainerError",
    "rpc error: code = Unavailable desc = error reading from server",
  ],
  ["a runtime that goes away in the middle", "RunContainerError", "error reading from server: EOF"],
] as const)("%s is left to the kubelet", ([, reason, message]) => {
  expect(startStep(podWith({ waiting: { reason, message } }), "trial").kind).toBe("starting");
});

test("a pull that is waited with is told by what went wrong", () => {
  const message = 'Back-off pulling image "reg/x:1": ErrImagePull: reg/x:1: not found';
  const told = (words: string): object => ({ kind: "failed", error: { message: `trial did not start: ${words}` } });
  const waiting = (words: string): Pod => podWith({ waiting: { reason: "ImagePullBackOff", message: words } });
  expect(startStep(waiting(message), "trial")).toMatchObject(told("ErrImagePull: reg/x:1: not found"));
  const bare = 'Back-off pulling image "reg/x:1"';
  expect(startStep(waiting(bare), "trial")).toMatchObject(told(`ImagePullBackOff: ${bare}`));
});

const unauthorized =
  'resolve reference "reg/x:1": pulling from host reg failed with status code [manifests 1]: 401 Unauthorized';

test("a registry that refuses a node has refused it for good, unless the Pod has secrets it may not have seen", () => {
  const pod = podWith({ waiting: { reason: "ErrImagePull", message: unauthorized } });
  expect(startStep(pod, "trial")).toMatchObject({ kind: "failed", error: { transient: false } });
  const withSecrets = { ...pod, spec: { imagePullSecrets: [{ name: "logins" }] } };
  expect(startStep(withSecrets, "trial")).toMatchObject({
    kind: "refused",
    isBackOff: false,
    error: { code: "image_pull_failed", transient: false },
  });
});

test.for([
  ['resolve reference "reg/denied/invalid:forbidden": dial tcp 1.2.3.4:443: i/o timeout', "passing"],
  ["unexpected status from HEAD request to https://reg/v2/invalid/manifests/1: 500 Internal Server Error", "passing"],
  ["docker.io/library/nothing:1: not found", "absent"],
  ["pull access denied, repository does not exist or may require authorization", "refused"],
  [unauthorized, "refused"],
] as const)("the words %s about a pull are read as %s", ([message, answer]) => {
  expect(pullAnswer(message)).toBe(answer);
});

test("a Pod that is evicted while it starts is lost to that, whatever its container says", () => {
  const state = { terminated: { reason: "Error", exitCode: 143 } };
  const pod = podWith(state, { phase: "Failed", reason: "Evicted", message: "The node was low on resource: memory." });
  expect(startStep(pod, "trial")).toMatchObject({
    kind: "failed",
    error: { code: "resource_allocation_failed", transient: true },
  });
});

test("a node without room is a matter of allocation, which may pass", () => {
  const step = startStep(podWith({}, { phase: "Failed", reason: "OutOfcpu" }), "trial");
  expect(step).toMatchObject({ kind: "failed", error: { code: "resource_allocation_failed", transient: true } });
});

test("names and labels are such as a cluster takes", () => {
  expect(podName("9_My Trial".repeat(20), "ABC-def")).toMatch(/^[a-z][-a-z0-9]{0,55}-abcdef$/);
  expect(podName("---", "1")).toBe("trial-1");
  expect(selectorOf({ job: "fine", odd: "größe 世界" })).toMatch(/^job=fine,odd=hash-[0-9a-f]{40}$/);
});
