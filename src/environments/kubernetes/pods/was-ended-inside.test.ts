import { expect, test } from "vitest";
import type { Pod } from "./pod.ts";
import { mayHaveEndedInside } from "./was-ended-inside.ts";

const disrupted = [{ type: "DisruptionTarget", status: "True", reason: "TerminationByKubelet" }];

function ended(terminated: object | null, status: object = {}, metadata: object = {}): Pod {
  const containerStatuses = terminated === null ? [] : [{ name: "main", state: { terminated } }];
  return { metadata: { name: "pod", ...metadata }, status: { phase: "Failed", containerStatuses, ...status } };
}

test.for([
  ["was told to end", ended({ exitCode: 143, reason: "Error" })],
  ["could not sleep any more", ended({ exitCode: 3, reason: "Error" })],
  ["found no program to sleep with", ended({ exitCode: 127, reason: "Error" })],
  ["met a library that was truncated", ended({ exitCode: 135, reason: "Error" })],
  ["slept badly", ended({ exitCode: 0, reason: "Completed" }, { phase: "Succeeded" })],
] as const)("a main process that %s did so from inside, when nobody else is known to have done it", ([, pod]) => {
  expect(mayHaveEndedInside(pod)).toBe(true);
});

const told = { exitCode: 143, reason: "Error" };

test.for([
  ["that is deleted", ended(told, {}, { deletionTimestamp: "2026-01-01T00:00:00Z" })],
  [
    "whose node shuts down",
    ended(told, { reason: "Terminated", message: "Pod was terminated in response to imminent node shutdown." }),
  ],
  ["whose node shuts down, as it was told before", ended(told, { reason: "NodeShutdown" })],
  ["that is evicted", ended(told, { reason: "Evicted" })],
  ["that is preempted by its node", ended(told, { reason: "Preempting" })],
  ["that has lived too long", ended(told, { reason: "DeadlineExceeded" })],
  ["whose node is lost", ended(null, { reason: "NodeLost" })],
  ["that a disruption ends", ended(told, { conditions: disrupted })],
  ["that runs on, with more to be told", ended(told, { phase: "Running" })],
  ["that its memory limit killed", ended({ exitCode: 137, reason: "OOMKilled" })],
  ["that somebody killed", ended({ exitCode: 137, reason: "Error" })],
  ["whose runtime died", ended({ exitCode: 255, reason: "Unknown" })],
  ["whose runtime died, as others say it", ended({ exitCode: 255, reason: "Error" })],
  ["whose end nobody saw", ended({ exitCode: 137, reason: "ContainerStatusUnknown" })],
  ["that never began", ended({ exitCode: 128, reason: "StartError" })],
  ["of which nothing is known", ended(null)],
] as const)("a Pod %s was not ended from inside", ([, pod]) => {
  expect(mayHaveEndedInside(pod)).toBe(false);
});
