// The tests on a real cluster: that of KUBECONFIG, or one of our own that is built once per user and brought up here.
// With --up it only brings it up, with --down it takes it away, with --keep it leaves it running.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { binaryDir, buildBinary } from "../tests/kubernetes-rig/build-binary.ts";
import { buildBuildkit } from "../tests/kubernetes-rig/buildkit-image.ts";
import { clusterVariable, testImage } from "../tests/kubernetes-rig/find-cluster.ts";
import { addresses, registryLogin } from "../tests/kubernetes-rig/cluster-places.ts";
import { whyNoCluster } from "../tests/kubernetes-rig/start-cluster.ts";
import { stopCluster } from "../tests/kubernetes-rig/stop-cluster.ts";
import { useCluster } from "../tests/kubernetes-rig/use-cluster.ts";
import { tool } from "./run-steps.ts";

const given = process.env["KUBECONFIG"];
const flags = process.argv.slice(2).filter((word) => word.startsWith("--"));
const filters = process.argv.slice(2).filter((word) => !word.startsWith("--"));
const isOwn = given === undefined || given === "";

if (flags.includes("--down")) await stopCluster();
else {
  const reason = isOwn ? whyNoCluster() : null;
  if (reason !== null) throw new Error(`there is no cluster: KUBECONFIG names none, and ${reason}`);
  if (isOwn) {
    buildBinary((line) => console.log(line));
    buildBuildkit((line) => console.log(line));
  }
  const own = isOwn ? await useCluster() : null;
  const kubeconfig = own?.kubeconfig ?? given;
  console.log(`KUBECONFIG=${kubeconfig}`);
  if (flags.includes("--up") && isOwn) for (const line of clusterHints()) console.log(line);
  if (!flags.includes("--up")) {
    const args = [
      tool("vitest"),
      "run",
      "--project",
      "house",
      "--project",
      "alone",
      ...(filters.length > 0 ? filters : ["kubernetes"]),
    ];
    const env = { ...process.env, [clusterVariable]: kubeconfig };
    const { status } = spawnSync(process.execPath, args, { stdio: ["ignore", "inherit", "inherit"], env });
    process.exitCode = status ?? 1;
    if (!flags.includes("--keep")) await own?.leave();
  }
}

function clusterHints(): string[] {
  const { username, password } = registryLogin;
  return [
    `kubectl: ${join(binaryDir(), "kubectl")}`,
    `an image that the node has: ${testImage}`,
    `a registry, for the node and this machine: ${addresses.registry}, without TLS`,
    `the same one for Pods too: ${addresses.privateRegistry}, without TLS, as ${username} with ${password}`,
    "npm run test:kubernetes -- --down takes it away",
  ];
}
