import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../../src/base/clock.ts";
import { readHost } from "../../../src/base/host.ts";
import { silentLog, type Log } from "../../../src/base/log.ts";
import type {
  CreateEnvironmentRequest,
  Environment,
  EnvironmentProvider,
} from "../../../src/environments/environment.ts";
import { findCluster } from "../../../src/environments/kubernetes/connection/find-cluster.ts";
import { KubeClient } from "../../../src/environments/kubernetes/connection/kube-client.ts";
import { testImage } from "../../kubernetes-rig/find-cluster.ts";
import { openKubernetes } from "./open-kubernetes.ts";

const never = new AbortController().signal;

/** A provider on a real cluster, with what tests of it need; everything is given back when the test is over. */
export interface ClusterRoom {
  readonly provider: EnvironmentProvider;
  readonly create: (request?: Partial<CreateEnvironmentRequest>) => Promise<Environment>;
}

/** Far more Pods at once than a small node has processors for. */
export const overcommit = { requests_ratio: 0.02 };

/** What a Pod of a test asks for. */
export const testLimits = { cpus: 1, memoryBytes: 256 * 2 ** 20, storageBytes: 2 ** 30 };

/** An empty directory that is gone after the test. */
export async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "rollout-cluster-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Opens a provider for one test. */
export async function openRoom(
  env: Readonly<Record<string, string>>,
  config: Record<string, unknown> = {},
  log: Log = silentLog,
): Promise<ClusterRoom> {
  const provider = await openKubernetes(env, { ...overcommit, ...config }, log);
  onTestFinished(() => provider[Symbol.asyncDispose]());
  return {
    provider,
    async create(request = {}) {
      const name = `test-${randomUUID()}`;
      const given = { image: testImage, name, limits: testLimits, place: [], labels: {}, signal: never, ...request };
      const environment = await provider.createEnvironment(given);
      onTestFinished(() => environment.destroy(never).catch(() => {}));
      return environment;
    },
  };
}

/** The API of the cluster itself, as whoever the variables say. */
export async function openApi(env: Readonly<Record<string, string>>): Promise<KubeClient> {
  const host = readHost(process);
  const endpoint = await findCluster({
    host: { ...host, env: { ...host.env, ...env } },
    clock: systemClock,
    baseDir: host.cwd,
    kubeconfig: undefined,
    context: undefined,
    namespace: undefined,
  });
  const pace = { callsPerSecond: 100, burst: 100 };
  const client = new KubeClient({ endpoint, clock: systemClock, pace, patienceMs: 30_000 });
  onTestFinished(() => client[Symbol.dispose]());
  return client;
}
