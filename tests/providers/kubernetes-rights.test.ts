import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { expect, test } from "vitest";
import { messageOf } from "../../src/base/rollout-error.ts";
import { runScript } from "../../src/environments/conformance/run-command.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findCluster } from "../kubernetes-rig/find-cluster.ts";
import { makeDirectory, openRoom } from "./kubernetes/cluster-room.ts";
import { openAccount, roleOfGuide } from "./kubernetes/open-account.ts";

const never = new AbortController().signal;
const cluster = await findCluster();

test("the Role of the guide is enough for a whole life of an environment", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const { namespace, kubeconfig } = await openAccount(cluster.env, roleOfGuide());
  const { provider, create } = await openRoom({ KUBECONFIG: kubeconfig }, { namespace });
  await provider.probe(never);
  const labels = { "rollout-test": randomUUID() };
  const environment = await create({ labels, place: [{ kind: "directory", target: "/logs" }] });
  expect((await runScript(environment, "echo works", { signal: never })).stdout.toString()).toBe("works\n");
  await environment.copyFrom({ source: "/logs", target: join(await makeDirectory(), "logs"), signal: never });
  await environment.stop(never);
  const [found] = await provider.findEnvironments(labels, never);
  expect(found).toMatchObject({ id: environment.id, isKept: true });
  await provider.removeEnvironment(environment.id, never);
  expect(await provider.findEnvironments(labels, never)).toEqual([]);
});

test("an account that lacks a right is told which before the first trial", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const rules = roleOfGuide().filter(({ resources }) => !resources.includes("pods/exec"));
  const { namespace, kubeconfig } = await openAccount(cluster.env, rules);
  const { provider } = await openRoom({ KUBECONFIG: kubeconfig }, { namespace });
  const told = await provider.probe(never).then(String, messageOf);
  expect(told).toMatch(/may not create pods\/exec, get pods\/exec in the namespace rollout-rights-/);
});

test("so is one that could not keep a Pod", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const rules = roleOfGuide().map((rule) => ({ ...rule, verbs: rule.verbs.filter((verb) => verb !== "patch") }));
  const { namespace, kubeconfig } = await openAccount(cluster.env, rules);
  const { provider } = await openRoom({ KUBECONFIG: kubeconfig }, { namespace });
  const told = await provider.probe(never).then(String, messageOf);
  expect(told).toMatch(/may not patch pods in the namespace rollout-rights-/);
});

test("an account that may do nothing in a namespace hears that there may be none", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const { kubeconfig } = await openAccount(cluster.env, roleOfGuide());
  const { provider } = await openRoom({ KUBECONFIG: kubeconfig }, { namespace: "rollout-no-such" });
  await expect(provider.probe(never)).rejects.toMatchObject({
    message: expect.stringMatching(
      /^this account may not create pods, .*, get pods\/exec in the namespace rollout-no-such$/,
    ),
    hint: expect.stringMatching(/see whether there is a namespace rollout-no-such at all$/),
  });
});
