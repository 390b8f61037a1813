import { writeFileSync } from "node:fs";
import { chmod } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runScript } from "../../src/environments/conformance/run-command.ts";
import type { KubeClient } from "../../src/environments/kubernetes/connection/kube-client.ts";
import { cannotRun, root } from "../e2e/rollout-cli.ts";
import { adminKubeconfig } from "../kubernetes-rig/cluster-places.ts";
import { findCluster, testImage } from "../kubernetes-rig/find-cluster.ts";
import { makeDirectory, openApi, openRoom, overcommit } from "./kubernetes/cluster-room.ts";
import { openCuttableWay } from "./kubernetes/cuttable-way.ts";
import { kubeconfigFor, openAccount, roleOfGuide, type TestAccount } from "./kubernetes/open-account.ts";

const never = new AbortController().signal;
const cluster = await findCluster();

// The API server remembers for some seconds that a token is good.
const longerThanRememberedSec = 14;

// A token that lasts as long as a secret does.
async function makeLease(api: KubeClient, { namespace, makeToken }: TestAccount, name: string) {
  const path = `/api/v1/namespaces/${namespace}/secrets`;
  const { metadata } = await api.json<{ metadata: { uid: string } }>({
    method: "POST",
    path,
    json: { metadata: { name } },
    signal: never,
  });
  const token = await makeToken({ kind: "Secret", apiVersion: "v1", name, uid: metadata.uid });
  const end = (): Promise<unknown> => api.json({ method: "DELETE", path: `${path}/${name}`, signal: never });
  return { token, end };
}

test.for(["a token file", "a credential program"] as const)(
  "a command and the watch outlive a token that %s replaces",
  async (kind, context) => {
    if (cluster.reason !== null) cannotRun(context, cluster.reason);
    const api = await openApi(cluster.env);
    const account = await openAccount(cluster.env, roleOfGuide());
    const directory = await makeDirectory();
    const tokenFile = join(directory, "token");
    const program = join(directory, "give-token");
    const answer = '{"kind":"ExecCredential","status":{"token":"\'"$(cat ' + tokenFile + ')"\'"}}';
    writeFileSync(program, `#!/bin/sh\necho '${answer}'\n`);
    await chmod(program, 0o755);
    const first = await makeLease(api, account, "first");
    writeFileSync(tokenFile, first.token);
    const user = kind === "a token file" ? { tokenFile } : { exec: { command: program } };
    const plain = join(directory, "plain");
    writeFileSync(plain, kubeconfigFor(cluster.env, user));
    const way = await openCuttableWay(plain, join(directory, "kubeconfig"));
    onTestFinished(() => way[Symbol.asyncDispose]());
    const { create } = await openRoom({ KUBECONFIG: way.kubeconfig }, { namespace: account.namespace });
    const environment = await create();
    const seconds = longerThanRememberedSec + 4;
    const script = `for ((i = 0; i < ${seconds}; i++)); do echo "line $i"; sleep 1; done; exit 3`;
    const running = runScript(environment, script, { signal: never });
    const second = await makeLease(api, account, "second");
    writeFileSync(tokenFile, second.token);
    await first.end();
    await new Promise((resolve) => setTimeout(resolve, longerThanRememberedSec * 1000));
    way.cut();
    const { exitCode, stdout } = await running;
    expect(stdout.toString()).toBe(Array.from({ length: seconds }, (_, index) => `line ${index}\n`).join(""));
    expect(exitCode).toBe(3);
    // Were the watch still refused, nobody would hear that the next Pod runs.
    expect((await create()).workdir).toBe("/");
  },
);

test("Rollout in a Pod works as the Pod's account, with nothing but the Role of the guide", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  if (cluster.env["KUBECONFIG"] !== adminKubeconfig) cannotRun(context, "only our own node has this checkout");
  const { namespace } = await openAccount(cluster.env, roleOfGuide());
  const hostPath = (path: string) => ({ mount_path: path, read_only: true, source: { hostPath: { path } } });
  const { create } = await openRoom(cluster.env, {
    namespace,
    service_account: "rollout",
    mount_service_account_token: true,
    volumes: [hostPath(root), hostPath(dirname(process.execPath))],
  });
  const limits = { cpus: 1, memoryBytes: 2 ** 30, storageBytes: 2 ** 30 };
  const job = {
    name: "job",
    environment: { type: "k8s", provider_config: overcommit },
    agents: [{ name: "oracle" }],
    datasets: [{ path: "./tasks" }],
  };
  const file = (target: string, content: string) => ({ kind: "file", target, content, mode: 0o644 }) as const;
  const task = "/work/tasks/one";
  const outer = await create({
    limits,
    place: [
      file("/work/job.json", JSON.stringify(job)),
      file(`${task}/task.toml`, `[environment]\ndocker_image = "${testImage}"\nmemory = "256Mi"\nstorage = "1Gi"\n`),
      file(`${task}/instruction.md`, "Do it.\n"),
      file(`${task}/solution/solve.sh`, "touch /tmp/done\n"),
      file(`${task}/tests/test.sh`, "test -e /tmp/done && echo 1 > /logs/verifier/reward.txt\n"),
    ],
  });
  const node = `${process.execPath} ${join(root, "dist", "bin.js")}`;
  const script = `cd /work && ${node} doctor; ${node} job.json && cat jobs/job/result.json`;
  const { exitCode, stdout, stderr } = await runScript(outer, script, { signal: never });
  expect(exitCode, stderr.toString()).toBe(0);
  expect(stdout.toString()).toMatch(/the service account of the Pod that Rollout runs in/);
  expect(stdout.toString()).toMatch(/"pass_rate": 1/);
});
