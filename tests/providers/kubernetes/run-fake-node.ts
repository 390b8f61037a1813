// A node without a kubelet and a faulty way to the API server, for as long as standard input is open. Argument: the
// kubeconfig of the cluster. Prints one line of JSON when it is ready, and one with what it has counted at the end.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fakeNodeKey, startFakeNode, type FakeNode } from "../../kubernetes-rig/fake-node/fake-node.ts";
import { openFaultyApi } from "../../kubernetes-rig/fake-node/faulty-api.ts";
import { openApi } from "../../kubernetes-rig/open-api.ts";

const signal = new AbortController().signal;
const api = await openApi(process.argv[2] ?? "");
const name = `rollout-scale-${randomUUID().slice(0, 8)}`;
try {
  await using node = await startFakeNode(api, name);
  await using faulty = await openFaultyApi(api.endpoint);
  await api.json({ method: "POST", path: "/api/v1/namespaces", json: { metadata: { name } }, signal });
  try {
    await untilReady(node);
    const selector = { [fakeNodeKey]: node.name };
    console.log(JSON.stringify({ namespace: name, kubeconfig: faulty.kubeconfig, selector, key: fakeNodeKey }));
    await once(process.stdin.resume(), "end");
    const pods = await api.json<{ items: unknown[] }>({ method: "GET", path: podsPath(), signal });
    console.log(JSON.stringify({ ...faulty.counts(), left: pods.items.length }));
  } finally {
    await api.json({ method: "DELETE", path: `/api/v1/namespaces/${name}`, signal });
    // Its Pods have nobody else to let them go.
    while ((await api.json<{ items: unknown[] }>({ method: "GET", path: podsPath(), signal })).items.length > 0) {
      await sleep(200);
    }
  }
} finally {
  api[Symbol.dispose]();
}

function podsPath(): string {
  return `/api/v1/namespaces/${name}/pods`;
}

// Pods are refused without the account of their namespace.
async function untilReady(node: FakeNode): Promise<void> {
  await node.untilReady();
  const path = `/api/v1/namespaces/${name}/serviceaccounts`;
  while ((await api.json<{ items: unknown[] }>({ method: "GET", path, signal })).items.length === 0) await sleep(200);
}
