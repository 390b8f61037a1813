import { setTimeout as sleep } from "node:timers/promises";
import { readJsonLines } from "../../../src/environments/json-lines.ts";
import type { KubeClient, KubeRequest } from "../../../src/environments/kubernetes/connection/kube-client.ts";
import type { Pod } from "../../../src/environments/kubernetes/pods/pod.ts";

/** The label and the taint of such a node, so that nobody else's Pods come to it. */
export const fakeNodeKey = "rollout.test/fake-node";

const beatMs = 10_000;
const restMs = 500;
const capacity = { cpu: "100000", memory: "1000Ti", "ephemeral-storage": "1000Ti", pods: "100000" };

/** A node without a kubelet: Pods that are bound to it run at once and are gone when they are deleted, and hold nothing. */
export interface FakeNode extends AsyncDisposable {
  readonly name: string;
  /** Resolves when Pods may come to it. */
  untilReady(): Promise<void>;
  /** From now on nothing is heard of it, as if its machine had lost its power. */
  fallSilent(): Promise<void>;
}

/** Registers the node with a cluster and looks after its Pods. */
export async function startFakeNode(api: KubeClient, name: string): Promise<FakeNode> {
  const leaving = new AbortController();
  const { signal } = leaving;
  const never = new AbortController().signal;
  const ask = <T>(request: Omit<KubeRequest, "signal">): Promise<T> => api.json<T>({ ...request, signal: never });
  await ask({ method: "POST", path: "/api/v1/nodes", json: nodeBody(name) });
  await ask({ method: "POST", path: leases, json: leaseBody(name) });
  const beating = beat(api, name, signal).catch(() => {});
  const working = lookAfterPods(api, name, signal);
  const fallSilent = async (): Promise<void> => {
    leaving.abort();
    await Promise.allSettled([beating, working]);
  };
  return {
    name,
    fallSilent,
    async untilReady() {
      type Node = { readonly spec: { readonly taints?: readonly unknown[] } };
      // The cluster takes the taint of a node that is not ready off when it has seen that it is.
      while ((await ask<Node>({ method: "GET", path: `/api/v1/nodes/${name}` })).spec.taints?.length !== 1) {
        await sleep(restMs);
      }
    },
    async [Symbol.asyncDispose]() {
      await fallSilent();
      await ask({ method: "DELETE", path: `/api/v1/nodes/${name}` }).catch(() => {});
      await ask({ method: "DELETE", path: `${leases}/${name}` }).catch(() => {});
    },
  };
}

const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";

function nodeBody(name: string): object {
  const now = new Date().toISOString();
  const ready = { type: "Ready", status: "True", reason: "Fake", lastHeartbeatTime: now, lastTransitionTime: now };
  return {
    metadata: { name, labels: { [fakeNodeKey]: name } },
    spec: { taints: [{ key: fakeNodeKey, value: name, effect: "NoSchedule" }] },
    status: { capacity, allocatable: capacity, conditions: [ready] },
  };
}

function leaseBody(name: string): object {
  const renewTime = new Date().toISOString().replace("Z", "000Z");
  return { metadata: { name }, spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime } };
}

async function beat(api: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  const patch = { method: "PATCH", contentType: "application/merge-patch+json", signal } as const;
  for (;;) {
    await sleep(beatMs, undefined, { signal });
    // The next one may be heard.
    await api.json({ ...patch, path: `${leases}/${name}`, json: leaseBody(name) }).catch(() => {});
  }
}

async function lookAfterPods(api: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  const done = new Map<string, "running" | "gone">();
  const query = `fieldSelector=${encodeURIComponent(`spec.nodeName=${name}`)}`;
  for (let version = ""; !signal.aborted;) {
    const path = `/api/v1/pods?watch=true&${query}${version === "" ? "" : `&resourceVersion=${version}`}`;
    try {
      const answer = await api.open({ method: "GET", path, signal });
      signal.addEventListener("abort", () => void answer.destroy(), { once: true });
      for await (const { type, object } of readJsonLines(answer)) {
        if (type === "ERROR") throw new Error("the watch is too old");
        const pod = object as BoundPod;
        version = pod.metadata.resourceVersion ?? version;
        if (type === "DELETED") done.delete(pod.metadata.uid ?? "");
        else if (type !== "BOOKMARK")
          void serve(api, pod, done, signal).catch(() => done.delete(pod.metadata.uid ?? ""));
      }
    } catch {
      // An API server that is restarted is asked from the start.
      version = "";
      await sleep(restMs);
    }
  }
}

interface BoundPod extends Omit<Pod, "spec"> {
  readonly metadata: Pod["metadata"] & { readonly namespace: string };
  readonly spec: { readonly containers: readonly { readonly name: string; readonly image: string }[] };
}

async function serve(
  api: KubeClient,
  pod: BoundPod,
  done: Map<string, "running" | "gone">,
  signal: AbortSignal,
): Promise<void> {
  const { namespace, name, uid = "", deletionTimestamp } = pod.metadata;
  const path = `/api/v1/namespaces/${namespace}/pods/${name}`;
  if (deletionTimestamp !== undefined) {
    if (done.get(uid) === "gone") return;
    done.set(uid, "gone");
    const json = { gracePeriodSeconds: 0, preconditions: { uid } };
    await api.json({ method: "DELETE", path, json, signal });
  } else if (!done.has(uid)) {
    done.set(uid, "running");
    const contentType = "application/merge-patch+json";
    await api.json({ method: "PATCH", path: `${path}/status`, contentType, json: runningStatus(pod), signal });
  }
}

function runningStatus({ spec }: BoundPod): object {
  const startedAt = new Date().toISOString();
  const conditions = ["PodScheduled", "Initialized", "ContainersReady", "Ready"].map((type) => ({
    type,
    status: "True",
    lastTransitionTime: startedAt,
  }));
  const containerStatuses = spec.containers.map(({ name, image }) => ({
    name,
    image,
    imageID: "",
    ready: true,
    started: true,
    restartCount: 0,
    state: { running: { startedAt } },
  }));
  return { status: { phase: "Running", startTime: startedAt, conditions, containerStatuses } };
}
