import { randomUUID } from "node:crypto";
import { systemClock } from "../../src/base/clock.ts";
import { readHost } from "../../src/base/host.ts";
import { silentLog } from "../../src/base/log.ts";
import { ExecStream } from "../../src/environments/kubernetes/connection/exec-stream.ts";
import { findCluster } from "../../src/environments/kubernetes/connection/find-cluster.ts";
import { KubeClient } from "../../src/environments/kubernetes/connection/kube-client.ts";
import type { Pod } from "../../src/environments/kubernetes/pods/pod.ts";
import { mainState } from "../../src/environments/kubernetes/pods/pod.ts";
import { PodWatch } from "../../src/environments/kubernetes/pods/pod-watch.ts";

const never = new AbortController().signal;
const podsPath = "/api/v1/namespaces/default/pods";

export interface BareCluster extends Disposable {
  /** How many programs have been started in Pods since the cluster began. */
  countExecs(): Promise<number>;
  /** Trials that are nothing but calls: a Pod, so many programs that end at once, its removal. */
  run(trials: number, inFlight: number, execs: number): Promise<void>;
}

/** The API of a cluster without anything of ours around it but the connection. */
export async function openBareCluster(kubeconfig: string, image: string): Promise<BareCluster> {
  const host = readHost(process);
  const options = { host, clock: systemClock, baseDir: host.cwd, kubeconfig, context: undefined, namespace: undefined };
  const endpoint = await findCluster(options);
  const pace = { callsPerSecond: 10_000, burst: 10_000 };
  const client = new KubeClient({ endpoint, clock: systemClock, pace, patienceMs: 10_000 });
  const session = randomUUID();
  const selector = {
    client,
    clock: systemClock,
    log: silentLog,
    namespace: "default",
    labelSelector: `bench=${session}`,
  };
  const watch = new PodWatch(selector);
  return {
    async countExecs() {
      const answer = await client.open({ method: "GET", path: "/metrics", signal: never });
      let text = "";
      for await (const chunk of answer as AsyncIterable<Buffer>) text += chunk.toString("utf8");
      const lines = text.matchAll(/^apiserver_request_total\{.*subresource="exec".*\} (\S+)$/gm);
      return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
    },
    async run(trials, inFlight, execs) {
      let left = trials;
      const work = async (): Promise<void> => {
        while (left-- > 0) await runOne(execs);
      };
      await Promise.all(Array.from({ length: inFlight }, work));
    },
    [Symbol.dispose]() {
      watch[Symbol.dispose]();
      client[Symbol.dispose]();
    },
  };

  async function runOne(execs: number): Promise<void> {
    const name = `bare-${randomUUID()}`;
    const container = {
      name: "main",
      image,
      imagePullPolicy: "IfNotPresent",
      command: ["sh", "-c", "trap 'exit 0' TERM; sleep 1000 & wait"],
    };
    const spec = { restartPolicy: "Never", automountServiceAccountToken: false, containers: [container] };
    const json = { metadata: { name, labels: { bench: session } }, spec };
    watch.note(await client.json<Pod>({ method: "POST", path: podsPath, json, signal: never }));
    await watch.wait(name, (pod) => (pod !== null && mainState(pod)?.running ? true : undefined), never);
    const address = { namespace: "default", pod: name, container: "main" };
    for (let count = 0; count < execs; count++) {
      using stream = await ExecStream.open(client, {
        ...address,
        command: ["true"],
        clock: systemClock,
        signal: never,
      });
      while ((await stream.next()).kind !== "exit");
    }
    const gone = { gracePeriodSeconds: 1 };
    await client.json({ method: "DELETE", path: `${podsPath}/${name}`, json: gone, signal: never });
    watch.drop(name);
  }
}
