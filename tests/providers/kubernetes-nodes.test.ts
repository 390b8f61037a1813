import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test, type TestContext } from "vitest";
import { runCommand } from "../../src/environments/conformance/run-command.ts";
import type { Environment } from "../../src/environments/environment.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { fakeNodeKey, startFakeNode, type FakeNode } from "../kubernetes-rig/fake-node/fake-node.ts";
import { openFaultyApi } from "../kubernetes-rig/fake-node/faulty-api.ts";
import { findCluster } from "../kubernetes-rig/find-cluster.ts";
import { openApi, openRoom } from "./kubernetes/cluster-room.ts";
import { failureOf } from "./kubernetes/failure-of.ts";

const never = new AbortController().signal;
const cluster = await findCluster();
// A cluster waits 40 to 50 seconds for a sign of a node.
const testLimitMs = 300_000;

// A node whose loss nobody else has to bear: without a kubelet, in a cluster that does not know it.
async function startOnNode(context: TestContext): Promise<{ node: FakeNode; environment: Environment }> {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const api = await openApi(cluster.env);
  const node = await startFakeNode(api, `rollout-lost-${randomUUID().slice(0, 8)}`);
  onTestFinished(() => node[Symbol.asyncDispose]());
  const way = await openFaultyApi(api.endpoint);
  onTestFinished(() => way[Symbol.asyncDispose]());
  await node.untilReady();
  const lost = ["not-ready", "unreachable"].map((key) => ({
    key: `node.kubernetes.io/${key}`,
    operator: "Exists",
    effect: "NoExecute",
    toleration_seconds: 0,
  }));
  const { create } = await openRoom(
    { KUBECONFIG: way.kubeconfig },
    {
      node_selector: { [fakeNodeKey]: node.name },
      tolerations: [{ key: fakeNodeKey, operator: "Exists" }, ...lost],
    },
  );
  const environment = await create();
  onTestFinished(async () => {
    // Nobody on the node lets it go.
    const path = `/api/v1/namespaces/default/pods/${environment.id}`;
    await api.json({ method: "DELETE", path, json: { gracePeriodSeconds: 0 }, signal: never }).catch(() => {});
  });
  return { node, environment };
}

test("a node that falls silent loses its Pods, in the cluster's words", { timeout: testLimitMs }, async (context) => {
  const { node, environment } = await startOnNode(context);
  const running = failureOf(runCommand(environment, ["sleep", "600"], { signal: never }));
  await node.fallSilent();
  const error = await running;
  expect(error).toMatchObject({ code: "environment_lost", transient: true });
  expect(error.message).toMatch(/DeletionByTaintManager: .*NoExecute taint/);
  await environment.destroy(never);
});

test("a node that is taken out of the cluster takes its Pods along", { timeout: testLimitMs }, async (context) => {
  const { node, environment } = await startOnNode(context);
  const running = failureOf(runCommand(environment, ["sleep", "600"], { signal: never }));
  await node[Symbol.asyncDispose]();
  const error = await running;
  expect(error).toMatchObject({ code: "environment_lost", transient: true });
  expect(error.message).toMatch(/DeletionByPodGC|deleted by someone else/);
});
