import { homedir } from "node:os";
import { join } from "node:path";

/** What is kept between runs: programs, packages and images. */
export const cacheDir = join(process.env["XDG_CACHE_HOME"] || join(homedir(), ".cache"), "rollout", "cluster");

/** What a running cluster keeps; it is thrown away with it. */
export const stateDir = process.env["ROLLOUT_CLUSTER_DIR"] ?? "/var/lib/rollout-test-cluster";

/** The kubeconfig of its administrator. */
export const adminKubeconfig = join(stateDir, "pki", "admin.kubeconfig");

const net = "10.246";

/** The addresses of a cluster of one node; nothing of it is seen from outside of the machine. */
export const addresses = {
  node: `${net}.0.1`,
  pods: `${net}.0.0/16`,
  podRange: [`${net}.1.1`, `${net}.255.254`],
  services: "10.247.0.0/16",
  apiService: "10.247.0.1",
  bridge: "rollcluster0",
  apiPort: 16_643,
  etcdPort: 12_579,
  etcdPeerPort: 12_580,
  kubeletPort: 10_350,
  kubeletHealthPort: 10_348,
  registry: "127.0.0.1:15000",
  /** The same images, for Pods too, and only with a login. */
  privateRegistry: `${net}.0.1:15001`,
} as const;

/** Who may use the private registry. */
export const registryLogin = { username: "evals", password: "only-for-tests" } as const;

/** The name of the only node. */
export const nodeName = "rollout-test-node";
