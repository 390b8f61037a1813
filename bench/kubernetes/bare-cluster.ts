import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { systemClock } from "../../src/base/clock.ts";
import { keeperAlone } from "../../src/environments/guest/keeper.ts";
import { readJsonLines } from "../../src/environments/json-lines.ts";
import { ExecStream } from "../../src/environments/kubernetes/connection/exec-stream.ts";
import type { KubeClient } from "../../src/environments/kubernetes/connection/kube-client.ts";
import { mainContainer, mainState, type Pod } from "../../src/environments/kubernetes/pods/pod.ts";
import { ownLabel } from "../../src/environments/kubernetes/pods/pod-labels.ts";
import { openApi } from "../../tests/kubernetes-rig/open-api.ts";
import { makeArchives, type Archives } from "../trials/make-archives.ts";

const never = new AbortController().signal;
const clock = systemClock;
const longestRemovalMs = 60_000;
const unpack = ["tar", "-x", "-p", "-f", "-", "-C", "/"];

/** Trials on a cluster, with the calls that none can do without. */
export interface BareCluster extends Disposable {
  readonly description: string;
  /** Where files are joined, they travel with the command that needs them, as ours do. */
  run(trials: number, inFlight: number, areFilesJoined?: boolean): Promise<void>;
  /** Waits until the Pods of all contenders are gone, a minute at most: a cluster removes them in its own time. */
  awaitEmpty(): Promise<void>;
}

export interface BareClusterOptions {
  readonly kubeconfig: string;
  /** A folder for what is packed. */
  readonly directory: string;
  readonly taskDirectory: string;
  readonly image: string;
  /** What a Pod requests and is limited to, the same as ours. */
  readonly resources: object;
}

/** The API of a cluster and nothing around it. */
export async function openBareCluster(options: BareClusterOptions): Promise<BareCluster> {
  const { kubeconfig, directory, taskDirectory, image, resources } = options;
  const client = await openApi(kubeconfig, 0);
  const { endpoint } = client;
  const { gitVersion } = await client.json<{ gitVersion: string }>({ method: "GET", path: "/version", signal: never });
  const archives = makeArchives(directory, taskDirectory);
  const { namespace } = endpoint;
  return {
    description: `Kubernetes ${gitVersion} at ${endpoint.server.host}, ${image}`,
    async run(trials, inFlight, areFilesJoined = false) {
      const session = randomUUID();
      const bare: Bare = { client, namespace, session, image, resources, archives, waiting: new Map() };
      using watch = await startWatch(bare);
      let next = 0;
      const work = async (): Promise<void> => {
        while (next++ < trials) await Promise.race([runTrial(bare, areFilesJoined), watch.lost]);
      };
      await Promise.all(Array.from({ length: inFlight }, work));
    },
    async awaitEmpty() {
      const endMs = clock.monotonic() + longestRemovalMs;
      while (clock.monotonic() < endMs && (await hasPods(client, namespace))) await clock.sleep(250, never);
    },
    [Symbol.dispose]: () => client[Symbol.dispose](),
  };
}

async function hasPods(client: KubeClient, namespace: string): Promise<boolean> {
  const counts = ["bench", ownLabel].map(async (label) => {
    const path = `/api/v1/namespaces/${namespace}/pods?limit=1&labelSelector=${encodeURIComponent(label)}`;
    const { items } = await client.json<{ items: readonly Pod[] }>({ method: "GET", path, signal: never });
    return items.length;
  });
  return (await Promise.all(counts)).some((count) => count > 0);
}

interface Bare {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly session: string;
  readonly image: string;
  readonly resources: object;
  readonly archives: Archives;
  /** Who waits for a Pod to run, by its name. */
  readonly waiting: Map<string, () => void>;
}

// A server ends a watch whenever it likes; a new one begins with how all Pods stand.
async function startWatch({ client, namespace, session, waiting }: Bare): Promise<Watch> {
  const path = `/api/v1/namespaces/${namespace}/pods?watch=true&labelSelector=${encodeURIComponent(`bench=${session}`)}`;
  const open = (): Promise<IncomingMessage> => client.open({ method: "GET", path, signal: never });
  let answer = await open();
  let isOver = false;
  const read = async (): Promise<never> => {
    for (;;) {
      try {
        for await (const { object } of readJsonLines(answer)) {
          const pod = object as Pod;
          if (mainState(pod)?.running !== undefined) waiting.get(pod.metadata.name)?.();
        }
      } catch (error) {
        if (isOver) throw error;
      }
      if (isOver) throw new Error("the watch is over");
      answer = await open();
    }
  };
  const lost = read();
  lost.catch(() => {});
  return {
    lost,
    [Symbol.dispose]() {
      isOver = true;
      answer.destroy();
    },
  };
}

interface Watch extends Disposable {
  /** Rejects when no watch can be had any more. */
  readonly lost: Promise<never>;
}

async function runTrial(bare: Bare, areFilesJoined: boolean): Promise<void> {
  const { client, namespace, session, image, resources, archives, waiting } = bare;
  const name = `bench-${randomUUID()}`;
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  const container = { name: mainContainer, image, command: keeperAlone, resources, imagePullPolicy: "IfNotPresent" };
  const place = { restartPolicy: "Never", terminationGracePeriodSeconds: 1, automountServiceAccountToken: false };
  const spec = { ...place, enableServiceLinks: false, containers: [container] };
  const metadata = { name, labels: { bench: session } };
  const running = new Promise<void>((resolve) => waiting.set(name, resolve));
  await client.json({ method: "POST", path: pods, json: { metadata, spec }, signal: never });
  try {
    await running;
    const commands = [
      { files: archives.solution, script: "/oracle/solve.sh" },
      { files: archives.tests, script: "/tests/test.sh" },
    ];
    for (const { files, script } of commands) {
      if (areFilesJoined) await exec(bare, name, ["sh", "-c", `${unpack.join(" ")} && exec bash ${script}`], files);
      else {
        await exec(bare, name, unpack, files);
        await exec(bare, name, ["bash", script]);
      }
    }
    // What is on its way when a bare command ends may be lost; then it is asked for again.
    const copyOut = (): Promise<Buffer> => exec(bare, name, ["tar", "-c", "-C", "/", "logs"]);
    let logs = await copyOut();
    for (let tries = 0; tries < 3 && logs.length === 0; tries++) logs = await copyOut();
    if (!logs.includes("1\n")) throw new Error("the trial on the cluster got no reward");
  } finally {
    waiting.delete(name);
    const json = { gracePeriodSeconds: 1 };
    await client.json({ method: "DELETE", path: `${pods}/${name}`, json, signal: never });
  }
}

async function exec(bare: Bare, pod: string, command: readonly string[], input?: Buffer): Promise<Buffer> {
  const { client, namespace } = bare;
  const request = { namespace, pod, container: mainContainer, command, clock, signal: never };
  using stream = await ExecStream.open(client, request);
  if (input !== undefined) await stream.write(input);
  await stream.endInput();
  const output: Buffer[] = [];
  for (;;) {
    const part = await stream.next();
    if (part.kind !== "exit") output.push(part.bytes);
    else if (part.exitCode === 0) return Buffer.concat(output);
    else throw new Error(`${command.join(" ")} ended with ${part.exitCode}: ${Buffer.concat(output).toString("utf8")}`);
  }
}
