import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { systemEntries } from "../engines/base-image.ts";
import { binaryDir } from "./build-binary.ts";
import { makeNetwork } from "./cluster-network.ts";
import { addresses, adminKubeconfig, cacheDir, nodeName, registryLogin, stateDir } from "./cluster-places.ts";
import { startPart, stopPart, waitFor } from "./cluster-process.ts";
import { fetchPackages } from "./fetch-packages.ts";
import { writeImageArchive } from "./image-archive.ts";
import { kubeletConfig, runtimeConfig } from "./node-config.ts";
import { makeCertificates } from "./make-certificates.ts";

const pki = join(stateDir, "pki");
const socket = join(stateDir, "containerd.sock");
const startLimitMs = 120_000;
// The password of the private registry, as it is kept there.
const loginHash = "$2b$04$NhqtWWROKnnsWJKrUIMM2.J8J0rSxIMdI2icJkSTIO7.xoAPIvyZO";

/** Why this machine cannot have a cluster of its own; null when it can. */
export function whyNoCluster(): string | null {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "a cluster of one's own takes root on Linux";
  for (const program of ["apt-get", "dpkg", "openssl", "ip", "iptables"]) {
    if (spawnSync(program, ["--version"], { stdio: "ignore" }).error) return `${program} is not installed`;
  }
  return null;
}

/** Brings a real cluster of one node up, or finds it running, and gives the kubeconfig of its administrator. */
export async function startCluster(): Promise<string> {
  mkdirSync(stateDir, { recursive: true });
  const packages = fetchPackages();
  makeCertificates();
  makeNetwork();
  const env = { PATH: [join(packages, "usr/bin"), join(packages, "usr/sbin"), process.env["PATH"]].join(":") };
  writeFileSync(join(stateDir, "containerd.toml"), runtimeConfig(packages));
  startPart("containerd", join(packages, "usr/bin/containerd"), ["-c", join(stateDir, "containerd.toml")], env);
  startRegistries(packages);
  startControlPlane();
  await waitFor("containerd", startLimitMs, () => ctr(packages, "version"));
  await importImages();
  await waitFor("the API server", startLimitMs, () => kubectl("get", "--raw", "/readyz") !== null);
  startControllers();
  startKubelet(env);
  await waitFor("the node", startLimitMs, () => (kubectl("get", "nodes", nodeName) ?? "").includes(" Ready"));
  await waitFor(
    "the default account",
    startLimitMs,
    () => kubectl("-n", "default", "get", "serviceaccount", "default") !== null,
  );
  return adminKubeconfig;
}

/** Ends the API server as an update would, and starts it again. */
export async function restartApiServer(downMs: number): Promise<void> {
  await stopPart("kube-apiserver", "SIGKILL");
  await new Promise((resolve) => setTimeout(resolve, downMs));
  startControlPlane();
  await waitFor("the API server", startLimitMs, () => kubectl("get", "--raw", "/readyz") !== null);
}

/** Kills the container runtime and starts it again; containers outlive it. */
export async function restartRuntime(downMs = 0): Promise<void> {
  await stopPart("containerd", "SIGKILL");
  await new Promise((resolve) => setTimeout(resolve, downMs));
  const packages = fetchPackages();
  const env = { PATH: [join(packages, "usr/bin"), join(packages, "usr/sbin"), process.env["PATH"]].join(":") };
  startPart("containerd", join(packages, "usr/bin/containerd"), ["-c", join(stateDir, "containerd.toml")], env);
  await waitFor("containerd", startLimitMs, () => ctr(packages, "version"));
}

/** Gives the node an image from an archive. */
export function importImage(archive: string): void {
  if (!ctr(fetchPackages(), "images", "import", archive)) throw new Error(`${archive} cannot be imported`);
}

/** Puts an image that the node has into the registries; its name without the registry's. */
export function publishImage(ref: string, name: string): string {
  const packages = fetchPackages();
  const target = `${addresses.registry}/${name}`;
  const isDone =
    ctr(packages, "images", "tag", "--force", ref, target) && ctr(packages, "images", "push", "--plain-http", target);
  if (!isDone) throw new Error(`${ref} cannot be pushed`);
  return name;
}

/** The answer of kubectl; null when it fails. */
function kubectl(...args: readonly string[]): string | null {
  const { status, stdout } = spawnSync(join(binaryDir(), "kubectl"), ["--kubeconfig", adminKubeconfig, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  return status === 0 ? stdout : null;
}

function ctr(packages: string, ...args: readonly string[]): boolean {
  const all = ["-a", socket, "-n", "k8s.io", ...args];
  return spawnSync(join(packages, "usr/bin/ctr"), all, { stdio: "ignore" }).status === 0;
}

// Two doors to the same images: one for this machine, and one for Pods too, with a login.
function startRegistries(packages: string): void {
  const htpasswd = join(stateDir, "htpasswd");
  writeFileSync(htpasswd, `${registryLogin.username}:${loginHash}\n`);
  startRegistry(packages, "registry", addresses.registry, {});
  const auth = { htpasswd: { realm: "tests", path: htpasswd } };
  startRegistry(packages, "private-registry", addresses.privateRegistry, { auth });
}

function startRegistry(packages: string, name: string, address: string, more: object): void {
  const storage = { filesystem: { rootdirectory: join(stateDir, "registry-data") }, delete: { enabled: true } };
  const config = { version: 0.1, log: { level: "warn" }, storage, http: { addr: address }, ...more };
  const file = join(stateDir, `${name}.yml`);
  writeFileSync(file, JSON.stringify(config));
  startPart(name, join(packages, "usr/bin/docker-registry"), ["serve", file]);
  const hosts = join(stateDir, "registries", address);
  mkdirSync(hosts, { recursive: true });
  const host = `[host."http://${address}"]\n  capabilities = ["pull", "resolve"]\n`;
  writeFileSync(join(hosts, "hosts.toml"), `server = "http://${address}"\n${host}`);
}

function startControlPlane(): void {
  const { node, apiPort, etcdPort, etcdPeerPort, services } = addresses;
  const etcd = `http://127.0.0.1:${etcdPort}`;
  const peer = `http://127.0.0.1:${etcdPeerPort}`;
  const file = (name: string): string => join(pki, name);
  startProgram("etcd", {
    name: "test",
    "data-dir": join(stateDir, "etcd"),
    "unsafe-no-fsync": "true",
    "log-level": "warn",
    "listen-client-urls": etcd,
    "advertise-client-urls": etcd,
    "listen-peer-urls": peer,
    "initial-advertise-peer-urls": peer,
    "initial-cluster": `test=${peer}`,
  });
  startProgram("kube-apiserver", {
    "etcd-servers": etcd,
    "bind-address": node,
    "secure-port": String(apiPort),
    "advertise-address": node,
    "service-cluster-ip-range": services,
    "client-ca-file": file("ca.crt"),
    "tls-cert-file": file("apiserver.crt"),
    "tls-private-key-file": file("apiserver.key"),
    "kubelet-client-certificate": file("to-kubelet.crt"),
    "kubelet-client-key": file("to-kubelet.key"),
    "kubelet-certificate-authority": file("ca.crt"),
    "kubelet-preferred-address-types": "InternalIP",
    "service-account-issuer": "https://kubernetes.default.svc",
    "service-account-key-file": file("accounts.pub"),
    "service-account-signing-key-file": file("accounts.key"),
    "authorization-mode": "Node,RBAC",
    "enable-admission-plugins": "NodeRestriction",
    "allow-privileged": "true",
    profiling: "false",
  });
}

function startControllers(): void {
  const shared = {
    "leader-elect": "false",
    "secure-port": "0",
    profiling: "false",
    "kube-api-qps": "200",
    "kube-api-burst": "400",
  };
  startProgram("kube-controller-manager", {
    ...shared,
    kubeconfig: join(pki, "controllers.kubeconfig"),
    "root-ca-file": join(pki, "ca.crt"),
    "service-account-private-key-file": join(pki, "accounts.key"),
    "use-service-account-credentials": "true",
  });
  startProgram("kube-scheduler", { ...shared, kubeconfig: join(pki, "scheduler.kubeconfig") });
}

function startKubelet(env: Readonly<Record<string, string>>): void {
  const resolv = join(stateDir, "resolv.conf");
  if (!existsSync(resolv)) copyFileSync("/etc/resolv.conf", resolv);
  writeFileSync(join(stateDir, "kubelet.yaml"), JSON.stringify(kubeletConfig(socket)));
  const options = {
    config: join(stateDir, "kubelet.yaml"),
    kubeconfig: join(pki, "kubelet.kubeconfig"),
    "root-dir": join(stateDir, "kubelet"),
    "cert-dir": pki,
    "hostname-override": nodeName,
    "node-ip": addresses.node,
  };
  startProgram("kubelet", options, env);
}

function startProgram(
  name: string,
  options: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): void {
  const args = Object.entries(options).map(([key, value]) => `--${key}=${value}`);
  startPart(name, join(binaryDir(), name), args, env);
}

async function importImages(): Promise<void> {
  const pause = join(binaryDir(), "pause.tar");
  const debian = join(cacheDir, "debian.tar");
  if (!existsSync(pause)) {
    const bytes = readFileSync(join(binaryDir(), "pause"));
    const entry = {
      type: "file",
      path: "pause",
      mode: 0o755,
      uid: 0,
      gid: 0,
      size: bytes.length,
      body: [bytes],
    } as const;
    await writeImageArchive({
      ref: "rollout.test/pause:1",
      entries: [entry],
      config: { Entrypoint: ["/pause"] },
      target: pause,
    });
  }
  if (!existsSync(debian)) {
    const config = { Cmd: ["bash"], Env: ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"] };
    const ref = "docker.io/library/debian:bookworm-slim";
    await writeImageArchive({ ref, entries: systemEntries(), config, target: debian });
  }
  for (const file of [pause, debian]) importImage(file);
}
