import { expect, test } from "vitest";
import { KubeError } from "../connection/kube-error.ts";
import { quotaAnswer } from "./quota-answer.ts";

const refused = (words: string): KubeError => new KubeError(403, `pods "a" is forbidden: ${words}`);
const exceeded = (requested: string, used: string, limited: string): KubeError =>
  refused(`exceeded quota: few, requested: ${requested}, used: ${used}, limited: ${limited}`);

test.for([
  ["pods=1", "pods=2", "pods=2", "full"],
  ["pods=1", "pods=0", "pods=0", "never"],
  ["requests.cpu=1", "requests.cpu=900m", "requests.cpu=1", "full"],
  ["requests.cpu=1", "requests.cpu=0", "requests.cpu=999m", "never"],
  ["limits.memory=1Gi", "limits.memory=900Mi", "limits.memory=1100M", "full"],
  ["limits.memory=1Gi", "limits.memory=0", "limits.memory=1G", "never"],
  ["count/pods=1,limits.memory=2Gi", "count/pods=4,limits.memory=0", "count/pods=4,limits.memory=1Gi", "never"],
  ["count/pods=1,limits.memory=1Gi", "count/pods=4,limits.memory=1Gi", "count/pods=4,limits.memory=1Gi", "full"],
  ["requests.nvidia.com/gpu=8", "requests.nvidia.com/gpu=0", "requests.nvidia.com/gpu=4", "never"],
] as const)("a Pod that asks for %s of a quota with %s used of %s: %s", ([requested, used, limited, answer]) => {
  expect(quotaAnswer(exceeded(requested, used, limited))).toBe(answer);
});

test("a quota that nobody has counted yet, or that says too little, is waited for", () => {
  expect(quotaAnswer(refused("status unknown for quota: few, resources: pods"))).toBe("full");
  expect(quotaAnswer(refused("exceeded quota: few"))).toBe("full");
});

test("what is refused for another reason is not the quota's", () => {
  expect(quotaAnswer(refused('error looking up service account a/b: serviceaccount "b" not found'))).toBeNull();
  expect(
    quotaAnswer(new KubeError(500, "exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0")),
  ).toBeNull();
});
