import { expect, test } from "vitest";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findCluster } from "../kubernetes-rig/find-cluster.ts";
import { measureScale } from "../providers/kubernetes/measure-scale.ts";

const pods = 2000;
const inFlight = 500;
const cluster = await findCluster();

test(`${pods} Pods go through one process, ${inFlight} at once, with one watch and flat memory`, async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const request = { pods, inFlight, holdSec: 25 };
  const { api, ...figures } = await measureScale(cluster.env["KUBECONFIG"] ?? "", request);
  console.log(JSON.stringify({ ...figures, ...api }));
  expect(figures.pods).toBe(pods);
  expect(figures.mostInFlight).toBeGreaterThan(0.8 * inFlight);
  expect(api.mostWatches).toBe(1);
  expect(api.calls["GET pods"] ?? 0).toBe(0);
  expect(api.refused["429"]).toBeGreaterThan(0);
  // Half of them are held while the window fills; from then on nothing may be added.
  const [, second = 0] = figures.megabytes;
  expect(figures.megabytes.at(-1)).toBeLessThan(second * 1.25);
});
