import { setTimeout as sleep } from "node:timers/promises";
import { expect, test, type TestContext } from "vitest";
import { runScript } from "../../src/environments/conformance/run-command.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { adminKubeconfig } from "../kubernetes-rig/cluster-places.ts";
import { findCluster } from "../kubernetes-rig/find-cluster.ts";
import { restartApiServer, restartRuntime } from "../kubernetes-rig/start-cluster.ts";
import { openRoom } from "./kubernetes/cluster-room.ts";

const never = new AbortController().signal;
const cluster = await findCluster();
const script = 'for ((i = 0; i < 80; i++)); do echo "line $i"; sleep 0.1; done; exit 3';
const expected = Array.from({ length: 80 }, (_, index) => `line ${index}\n`).join("");

function needsOwnCluster(context: TestContext): void {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  if (cluster.env["KUBECONFIG"] !== adminKubeconfig) cannotRun(context, "only a cluster of our own may be disturbed");
}

test("a command and a start survive an API server that is killed and comes back", async (context) => {
  needsOwnCluster(context);
  const { create } = await openRoom(cluster.env);
  const environment = await create();
  const running = runScript(environment, script, { signal: never });
  await sleep(1500);
  const restarting = restartApiServer(2000);
  const another = create();
  await restarting;
  const { exitCode, stdout } = await running;
  expect(stdout.toString()).toBe(expected);
  expect(exitCode).toBe(3);
  expect((await another).workdir).toBe("/");
});

test("a command survives a container runtime that is killed and comes back", async (context) => {
  needsOwnCluster(context);
  const { create } = await openRoom(cluster.env);
  const environment = await create();
  const running = runScript(environment, script, { signal: never });
  await sleep(1500);
  await restartRuntime();
  const { exitCode, stdout } = await running;
  expect(stdout.toString()).toBe(expected);
  expect(exitCode).toBe(3);
});
