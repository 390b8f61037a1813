import { expect, test } from "vitest";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findCluster } from "../kubernetes-rig/find-cluster.ts";
import { measureScale } from "./kubernetes/measure-scale.ts";

const cluster = await findCluster();

test("many Pods share one watch, and calls that a busy API server refuses are made again", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const request = { pods: 80, inFlight: 40, holdSec: 1 };
  const { pods, api } = await measureScale(cluster.env["KUBECONFIG"] ?? "", request);
  expect(pods).toBe(80);
  expect(api.mostWatches).toBe(1);
  expect(api.calls["GET pods"] ?? 0).toBe(0);
  expect(api.refused["429"]).toBeGreaterThan(0);
  expect(api.refused["503"]).toBeGreaterThan(0);
});
