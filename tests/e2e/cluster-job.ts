import type { TestContext } from "vitest";
import type { KubeClient } from "../../src/environments/kubernetes/connection/kube-client.ts";
import { systemClock } from "../../src/base/clock.ts";
import { ExecStream } from "../../src/environments/kubernetes/connection/exec-stream.ts";
import { mainContainer } from "../../src/environments/kubernetes/pods/pod.ts";
import { findCluster, testImage } from "../kubernetes-rig/find-cluster.ts";
import { openApi, overcommit } from "../providers/kubernetes/cluster-room.ts";
import { cannotRun, makeRoom, type Ended, type Room, type Running, type TaskOptions } from "./rollout-cli.ts";

const never = new AbortController().signal;
/** The cluster of these tests. */
export const cluster = await findCluster();
const patienceMs = 110_000;
/** A task that the oracle passes. */
export const clusterTask: TaskOptions = {
  toml: `[environment]\ndocker_image = "${testImage}"\nmemory = "256Mi"\ncpus = 1\nstorage = "1Gi"\n`,
  dockerfile: null,
  solution: "mkdir -p /app && touch /app/done",
  test: "test -f /app/done && echo 1 > /logs/verifier/reward.txt || echo 0 > /logs/verifier/reward.txt",
};

/** A room with a job on the cluster. */
export interface ClusterJob extends Room {
  readonly api: KubeClient;
  startJob(...args: string[]): Running;
  runWords(...words: string[]): Promise<Ended>;
  /** The Pods of this room's jobs that are there. */
  pods(): Promise<string[]>;
  /** Makes a file in a Pod; whether that succeeded. */
  touch(pod: string, file: string): Promise<boolean>;
  removePod(name: string): Promise<void>;
  /** Waits until somebody in a Pod has written a mark, an agent `/app/started`; the Pod's name. */
  agentOf(running: Running, mark?: string): Promise<string>;
}

/** Makes a room with a job of one task on the cluster, with the given keys over it; `config` goes into its provider_config. */
export async function makeClusterJob(
  context: TestContext,
  changes: Readonly<Record<string, unknown>> = {},
): Promise<ClusterJob> {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const room = await makeRoom();
  const api = await openApi(cluster.env);
  await room.writeTask("tasks/one", clusterTask);
  const team = `team-${Math.random().toString(36).slice(2)}`;
  const {
    config = {},
    env = {},
    preserve = "never",
    ...rest
  } = changes as {
    preserve?: string;
    config?: Record<string, unknown>;
    env?: Record<string, string>;
  };
  const provider_config = { ...overcommit, labels: { team }, ...config };
  await room.writeJob({
    agents: [{ name: "oracle" }],
    environment: { type: "k8s", preserve_env: preserve, provider_config },
    ...rest,
  });
  const start = (...words: string[]): Running => room.start(words, { env: { ...cluster.env, ...env }, patienceMs });
  const { namespace = "default" } = provider_config as { namespace?: string };
  const pods = async (): Promise<string[]> => {
    const path = `/api/v1/namespaces/${namespace}/pods?labelSelector=team%3D${team}`;
    const { items } = await api.json<{ items: { metadata: { name: string; deletionTimestamp?: string } }[] }>({
      method: "GET",
      path,
      signal: never,
    });
    return items.flatMap(({ metadata }) => (metadata.deletionTimestamp === undefined ? [metadata.name] : []));
  };
  return {
    ...room,
    api,
    startJob: (...args) => start("job.yaml", ...args),
    runWords: (...words) => start(...words).ended,
    pods,
    async agentOf(running, mark = "/app/started") {
      let found = "";
      await running.until("an agent works", async () => {
        for (const pod of await pods()) if (await succeeds(api, { namespace, pod }, ["test", "-e", mark])) found = pod;
        return found !== "";
      });
      return found;
    },
    touch: (pod, file) => succeeds(api, { namespace, pod }, ["touch", file]),
    async removePod(name) {
      await api.json({ method: "DELETE", path: `/api/v1/namespaces/${namespace}/pods/${name}`, signal: never });
    },
  };
}

async function succeeds(
  api: KubeClient,
  place: { readonly namespace: string; readonly pod: string },
  command: readonly string[],
): Promise<boolean> {
  try {
    const address = { ...place, container: mainContainer };
    using stream = await ExecStream.open(api, { ...address, command, clock: systemClock, signal: never });
    for (;;) {
      const part = await stream.next();
      if (part.kind === "exit") return part.exitCode === 0;
    }
  } catch {
    // It does not run yet.
    return false;
  }
}
