import { describe, test } from "vitest";
import { missingNeeds } from "../../src/environments/conformance/conformance-case.ts";
import { conformanceCases } from "../../src/environments/conformance/conformance-cases.ts";
import { runConformanceCase } from "../../src/environments/conformance/run-conformance-case.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findCluster, testImage } from "../kubernetes-rig/find-cluster.ts";
import { overcommit } from "./kubernetes/cluster-room.ts";
import { openKubernetes } from "./kubernetes/open-kubernetes.ts";

const cluster = await findCluster();
const { capabilities } = await openKubernetes(cluster.env);

describe("the kubernetes provider keeps the contract on a real cluster", () => {
  for (const entry of conformanceCases) {
    const missing = missingNeeds(entry, capabilities);
    test.concurrent(entry.title, async (context) => {
      if (cluster.reason !== null) cannotRun(context, cluster.reason);
      if (missing.length > 0) cannotRun(context, `needs ${missing.join(", ")}`);
      await runConformanceCase(entry, {
        open: async () => ({ provider: await openKubernetes(cluster.env, overcommit), scratch: "/scratch" }),
        task: { dockerImage: testImage },
        baseImage: testImage,
        patienceMs: 60_000,
        signal: context.signal,
      });
    });
  }
});
