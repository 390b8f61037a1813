import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { removeNetwork } from "./cluster-network.ts";
import { adminKubeconfig, stateDir } from "./cluster-places.ts";
import { parts, pidOf, stopPart } from "./cluster-process.ts";
import { fetchPackages } from "./fetch-packages.ts";

/** Ends the cluster and removes all it kept; what it was built from stays. */
export async function stopCluster(): Promise<void> {
  if (!existsSync(adminKubeconfig)) return;
  for (const part of parts.filter((name) => name !== "containerd")) await stopPart(part, "SIGKILL");
  if (pidOf("containerd") !== null) await endContainers();
  await stopPart("containerd");
  endShims();
  const mounts = readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "");
  for (const path of mounts.filter((mount) => mount.startsWith(`${stateDir}/`)).reverse()) {
    spawnSync("umount", ["-l", path], { stdio: "ignore" });
  }
  removeNetwork();
  // Never through a mount that did not go away.
  spawnSync("rm", ["-rf", "--one-file-system", stateDir]);
  rmSync("/var/lib/kubelet/device-plugins/kubelet.sock", { force: true });
  rmSync("/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint", { force: true });
}

async function endContainers(): Promise<void> {
  const program = join(fetchPackages(), "usr/bin/ctr");
  const ctr = (...args: readonly string[]): string =>
    spawnSync(program, ["-a", join(stateDir, "containerd.sock"), "-n", "k8s.io", ...args], { encoding: "utf8" }).stdout;
  const list = (): string[] =>
    ctr("tasks", "ls", "-q")
      .split("\n")
      .filter((id) => id !== "");
  for (const id of list()) ctr("tasks", "kill", "-s", "KILL", id);
  for (let rounds = 0; rounds < 30 && ctr("tasks", "ls").includes("RUNNING"); rounds++) await setTimeout(100);
  for (const id of list()) ctr("tasks", "delete", "-f", id);
}

// They outlive their runtime; ours are those that name our socket.
function endShims(): void {
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0");
      const isOurs = words.includes(join(stateDir, "containerd.sock")) && /containerd-shim/.test(words[0] ?? "");
      if (isOurs && statSync(`/proc/${pid}`).uid === 0) process.kill(Number(pid), "SIGKILL");
    } catch {
      // It has ended meanwhile.
    }
  }
}
