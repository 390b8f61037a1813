import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { onTestFinished } from "vitest";
import { parse, stringify } from "yaml";
import { makeDirectory, openApi } from "./cluster-room.ts";

const never = new AbortController().signal;

/** What a Role allows. */
export interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
}

/** An account of a namespace of its own. */
export interface TestAccount {
  readonly namespace: string;
  /** A kubeconfig with its token. */
  readonly kubeconfig: string;
  /** Another token of it, which lasts as long as the object that it is bound to. */
  readonly makeToken: (boundTo?: object) => Promise<string>;
}

/** A namespace in which an account has nothing but a Role; all of it is gone after the test. */
export async function openAccount(env: Readonly<Record<string, string>>, rules: readonly Rule[]): Promise<TestAccount> {
  const api = await openApi(env);
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
  const makeToken = async (boundObjectRef?: object): Promise<string> => {
    const path = `${core}/serviceaccounts/rollout/token`;
    return (await post<{ status: { token: string } }>(path, { spec: { boundObjectRef } })).status.token;
  };
  const kubeconfig = join(await makeDirectory(), "kubeconfig");
  writeFileSync(kubeconfig, kubeconfigFor(env, { token: await makeToken() }));
  return { namespace, kubeconfig, makeToken };
}

/** The kubeconfig of the tests with another user. */
export function kubeconfigFor(env: Readonly<Record<string, string>>, user: Record<string, unknown>): string {
  const config = parse(readFileSync(env["KUBECONFIG"] ?? "", "utf8")) as { users: { name: string }[] };
  return stringify({ ...config, users: [{ name: config.users[0]?.name ?? "", user }] });
}

/** The Role that the guide on Kubernetes gives. */
export function roleOfGuide(): Rule[] {
  const guide = readFileSync(resolve(import.meta.dirname, "../../../docs/guides/kubernetes.md"), "utf8");
  const text = /^apiVersion: rbac[^]*?(?=^YAML$)/m.exec(guide)?.[0] ?? "";
  return (parse(text) as { rules: Rule[] }).rules;
}
