import { messageOf } from "../../src/base/rollout-error.ts";
import { openKubernetes } from "../providers/kubernetes/open-kubernetes.ts";

/** The variable that leads the tests to a cluster that they may use. */
export const clusterVariable = "ROLLOUT_TEST_KUBECONFIG";

/** The image that Pods of the tests run; a cluster that somebody brings must be able to pull it. */
export const testImage = process.env["ROLLOUT_TEST_KUBERNETES_IMAGE"] ?? "docker.io/library/debian:bookworm-slim";

/** The cluster that the tests may use. */
export interface TestCluster {
  /** Variables that lead to it. */
  readonly env: Readonly<Record<string, string>>;
  /** Why it cannot be used; null when it can. */
  readonly reason: string | null;
}

/** The cluster that the tests were given, with the reason when they cannot use it. */
export async function findCluster(): Promise<TestCluster> {
  const kubeconfig = process.env[clusterVariable];
  if (kubeconfig === undefined || kubeconfig === "") {
    return { env: {}, reason: "there is no Kubernetes cluster for the tests: npm run test:kubernetes brings one up" };
  }
  const env = { KUBECONFIG: kubeconfig };
  try {
    await using provider = await openKubernetes(env);
    await provider.probe(new AbortController().signal);
    return { env, reason: null };
  } catch (error) {
    return { env, reason: messageOf(error) };
  }
}
