import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test, type TestContext } from "vitest";
import type { EnvironmentProvider, ResourceLimits } from "../../src/environments/environment.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findCluster, testImage } from "../kubernetes-rig/find-cluster.ts";
import { openApi, openRoom, testLimits } from "./kubernetes/cluster-room.ts";
import { failureOf } from "./kubernetes/failure-of.ts";
import { openAccount, roleOfGuide, type TestAccount } from "./kubernetes/open-account.ts";

const never = new AbortController().signal;
const cluster = await findCluster();
const podsOf = (namespace: string): string => `/api/v1/namespaces/${namespace}/pods`;

// An account that may look nothing up, so that only the cluster itself can tell.
async function openNarrow(context: TestContext): Promise<TestAccount> {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  return openAccount(cluster.env, roleOfGuide());
}

async function openProvider(
  { namespace, kubeconfig }: TestAccount,
  config: Record<string, unknown>,
  ...limits: ResourceLimits[]
): Promise<EnvironmentProvider> {
  const { provider } = await openRoom({ KUBECONFIG: kubeconfig }, { namespace, ...config });
  const task = { taskName: "t", contextDir: null, dockerImage: testImage, forceBuild: false };
  for (const each of limits.length === 0 ? [testLimits] : limits) {
    await provider.checkTask({ ...task, limits: each }, never);
  }
  return provider;
}

async function makeQuota(namespace: string, hard: Record<string, string>): Promise<void> {
  const api = await openApi(cluster.env);
  const path = `/api/v1/namespaces/${namespace}/resourcequotas`;
  await api.json({ method: "POST", path, json: { metadata: { name: "few" }, spec: { hard } }, signal: never });
  const isCounted = async (): Promise<boolean> => {
    const quota = await api.json<{ status?: { used?: object } }>({
      method: "GET",
      path: `${path}/few`,
      signal: never,
    });
    return quota.status?.used !== undefined;
  };
  await expect.poll(isCounted, { timeout: 30_000 }).toBe(true);
}

test.for([
  ["service_account", { service_account: "nobody" }, /serviceaccount "nobody" not found/],
  ["priority_class", { priority_class: "nobody" }, /no PriorityClass with name nobody/],
  ["runtime_class", { runtime_class: "nothing" }, /RuntimeClass "nothing" not found/],
  ["pod_patch", { pod_patch: { spec: { hostNetwork: "perhaps" } } }, /cannot unmarshal string.*hostNetwork/],
  ["pod_patch", { pod_patch: { spec: { hostNetwrok: true } } }, /unknown field "spec.hostNetwrok"/],
  ["pod_patch", { pod_patch: { spec: { dnsPolicy: "Mine" } } }, /spec.dnsPolicy: Unsupported value: "Mine"/],
  ["affinity", { affinity: { nodeAffinty: { weight: 1 } } }, /unknown field "spec.affinity.nodeAffinty"/],
] as const)("a wrong %s is told before the first Pod: %o", async ([path, config, words], context) => {
  const provider = await openProvider(await openNarrow(context), config);
  const { code, problems } = await failureOf(provider.probe(never));
  expect(code).toBe("config_invalid");
  expect(problems).toMatchObject([{ path, message: expect.stringMatching(words) }]);
  expect(problems[0]?.message).not.toMatch(/try-/);
});

test("a namespace whose rules take no such Pods is told before the first one", async (context) => {
  const account = await openNarrow(context);
  const api = await openApi(cluster.env);
  const path = `/api/v1/namespaces/${account.namespace}`;
  const json = { metadata: { labels: { "pod-security.kubernetes.io/enforce": "restricted" } } };
  await api.json({ method: "PATCH", path, json, contentType: "application/merge-patch+json", signal: never });
  const provider = await openProvider(account, {});
  const { problems } = await failureOf(provider.probe(never));
  expect(problems).toMatchObject([{ path: "", message: expect.stringMatching(/^violates PodSecurity "restricted/) }]);
});

test("right settings are taken, and nothing is made to find out", async (context) => {
  const account = await openNarrow(context);
  const provider = await openProvider(account, { pod_patch: { spec: { hostname: "patched" } } });
  const api = await openApi(cluster.env);
  const list = { method: "GET", path: podsOf(account.namespace), signal: never } as const;
  const { metadata } = await api.json<{ metadata: { resourceVersion: string } }>(list);
  await provider.probe(never);
  const query = new URLSearchParams({
    watch: "true",
    timeoutSeconds: "1",
    resourceVersion: metadata.resourceVersion,
  });
  const answer = await api.open({ ...list, path: `${list.path}?${query.toString()}` });
  expect((await answer.toArray()).join("")).toBe("");
});

test("a quota that is used up is no reason not to begin", async (context) => {
  const account = await openNarrow(context);
  await makeQuota(account.namespace, { pods: "1" });
  const other = await openRoom(cluster.env, { namespace: account.namespace });
  const environment = await other.create({ name: `test-${randomUUID()}` });
  onTestFinished(() => environment.destroy(never));
  await (await openProvider(account, {})).probe(never);
});

test("a quota that no task fits into is told before the first Pod; one that some do is not", async (context) => {
  const account = await openNarrow(context);
  await makeQuota(account.namespace, { "limits.memory": "300Mi" });
  const large = { ...testLimits, memoryBytes: 2 ** 30 };
  const { problems } = await failureOf((await openProvider(account, {}, large)).probe(never));
  expect(problems).toMatchObject([{ message: expect.stringMatching(/^exceeded quota: few, .*limits.memory=300Mi$/) }]);
  await (await openProvider(account, {}, large, testLimits)).probe(never);
});
