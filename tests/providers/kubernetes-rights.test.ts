import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parse, stringify } from "yaml";
import { messageOf } from "../../src/base/rollout-error.ts";
import { runScript } from "../../src/environments/conformance/run-command.ts";
import { cannotRun } from "../e2e/rollout-cli.ts";
import { findCluster } from "../kubernetes-rig/find-cluster.ts";
import { makeDirectory, openApi, openRoom } from "./kubernetes/cluster-room.ts";

const never = new AbortController().signal;
const cluster = await findCluster();

interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
}

// A namespace in which an account has nothing but a Role, and a kubeconfig with its token.
async function openAccount(rules: readonly Rule[]): Promise<{ namespace: string; kubeconfig: string }> {
  const api = await openApi(cluster.env);
  const namespace = `rollout-rights-${randomUUID().slice(0, 8)}`;
  const post = <T>(path: string, json: Record<string, unknown>): Promise<T> =>
    api.json<T>({ method: "POST", path, json, signal: never });
  await post("/api/v1/namespaces", { metadata: { name: namespace } });
  onTestFinished(async () => {
    await api.json({ method: "DELETE", path: `/api/v1/namespaces/${namespace}`, signal: never });
  });
  const core = `/api/v1/namespaces/${namespace}`;
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  await post(`${core}/serviceaccounts`, { metadata: { name: "rollout" } });
  await post(`${rbac}/roles`, { metadata: { name: "rollout" }, rules });
  await post(`${rbac}/rolebindings`, {
    metadata: { name: "rollout" },
    subjects: [{ kind: "ServiceAccount", name: "rollout", namespace }],
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "rollout" },
  });
  const { status } = await post<{ status: { token: string } }>(`${core}/serviceaccounts/rollout/token`, { spec: {} });
  const config = parse(readFileSync(cluster.env["KUBECONFIG"] ?? "", "utf8")) as { users: unknown[] };
  const name = (config.users as { name: string }[])[0]?.name ?? "";
  const kubeconfig = join(await makeDirectory(), "kubeconfig");
  writeFileSync(kubeconfig, stringify({ ...config, users: [{ name, user: { token: status.token } }] }));
  return { namespace, kubeconfig };
}

function roleOfGuide(): Rule[] {
  const guide = readFileSync(resolve(import.meta.dirname, "../../docs/guides/kubernetes.md"), "utf8");
  const text = /^apiVersion: rbac[^]*?(?=^YAML$)/m.exec(guide)?.[0] ?? "";
  return (parse(text) as { rules: Rule[] }).rules;
}

test("the Role of the guide is enough for a whole life of an environment", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const { namespace, kubeconfig } = await openAccount(roleOfGuide());
  const { provider, create } = await openRoom({ KUBECONFIG: kubeconfig }, { namespace });
  await provider.probe(never);
  const labels = { "rollout-test": randomUUID() };
  const environment = await create({ labels, place: [{ kind: "directory", target: "/logs" }] });
  expect((await runScript(environment, "echo works", { signal: never })).stdout.toString()).toBe("works\n");
  await environment.copyFrom({ source: "/logs", target: join(await makeDirectory(), "logs"), signal: never });
  await environment.stop(never);
  const [found] = await provider.findEnvironments(labels, never);
  expect(found).toMatchObject({ id: environment.id, isKept: true });
  await provider.removeEnvironment(environment.id, never);
  expect(await provider.findEnvironments(labels, never)).toEqual([]);
});

test("an account that lacks a right is told which before the first trial", async (context) => {
  if (cluster.reason !== null) cannotRun(context, cluster.reason);
  const rules = roleOfGuide().filter(({ resources }) => !resources.includes("pods/exec"));
  const { namespace, kubeconfig } = await openAccount(rules);
  const { provider } = await openRoom({ KUBECONFIG: kubeconfig }, { namespace });
  const told = await provider.probe(never).then(String, messageOf);
  expect(told).toMatch(/may not create pods\/exec, get pods\/exec in the namespace rollout-rights-/);
});
