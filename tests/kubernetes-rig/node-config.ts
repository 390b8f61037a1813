import { join } from "node:path";
import { addresses, stateDir } from "./cluster-places.ts";

/** The settings of the container runtime. */
export function runtimeConfig(packages: string): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const disabled = ["aufs", "btrfs", "devmapper", "zfs"].map((name) => `"io.containerd.snapshotter.v1.${name}"`);
  return `version = 2
root = "${stateDir}/containerd"
state = "${stateDir}/containerd-state"
disabled_plugins = [${disabled.join(", ")}, "io.containerd.internal.v1.opt"]
[grpc]
  address = "${stateDir}/containerd.sock"
[${cri}]
  sandbox_image = "rollout.test/pause:1"
  restrict_oom_score_adj = true
  [${cri}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    [${cri}.containerd.runtimes.runc.options]
      BinaryName = "${join(packages, "usr/sbin/runc")}"
      SystemdCgroup = false
  [${cri}.cni]
    bin_dir = "${join(packages, "usr/lib/cni")}"
    conf_dir = "${stateDir}/cni"
  [${cri}.registry]
    config_path = "${stateDir}/registries"
`;
}

/** The settings of the kubelet: small machines, many Pods, nothing of the host changed. */
export function kubeletConfig(socket: string): Record<string, unknown> {
  const pki = join(stateDir, "pki");
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: addresses.node,
    port: addresses.kubeletPort,
    healthzBindAddress: "127.0.0.1",
    healthzPort: addresses.kubeletHealthPort,
    tlsCertFile: join(pki, "kubelet.crt"),
    tlsPrivateKeyFile: join(pki, "kubelet.key"),
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: join(pki, "ca.crt") },
    },
    authorization: { mode: "Webhook" },
    containerRuntimeEndpoint: `unix://${socket}`,
    cgroupDriver: "cgroupfs",
    failCgroupV1: false,
    failSwapOn: false,
    oomScoreAdj: 0,
    makeIPTablesUtilChains: false,
    resolvConf: join(stateDir, "resolv.conf"),
    podLogsDir: join(stateDir, "pod-logs"),
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    serializeImagePulls: false,
    registryPullQPS: 0,
    // 0 is no limit by the manual and 5 in practice, so that complaints come minutes late behind many Pods.
    eventRecordQPS: 1000,
    eventBurst: 2000,
    kubeAPIQPS: 100,
    kubeAPIBurst: 200,
    maxPods: 250,
  };
}
