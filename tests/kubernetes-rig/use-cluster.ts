import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stateDir } from "./cluster-places.ts";
import { pidOf } from "./cluster-process.ts";
import { startCluster } from "./start-cluster.ts";
import { stopCluster } from "./stop-cluster.ts";

const users = join(stateDir, "users");

/** A cluster that is ours together with whoever else tests on this machine. */
export interface UsedCluster {
  readonly kubeconfig: string;
  /** Ends it, unless somebody else uses it or it ran before. */
  leave(): Promise<void>;
}

/** Brings our cluster up, or finds it running. */
export async function useCluster(): Promise<UsedCluster> {
  const wasRunning = pidOf("kube-apiserver") !== null && livingUsers().length === 0;
  mkdirSync(users, { recursive: true });
  const mark = join(users, String(process.pid));
  writeFileSync(mark, "");
  const kubeconfig = await startCluster();
  return {
    kubeconfig,
    async leave() {
      rmSync(mark, { force: true });
      if (!wasRunning && livingUsers().length === 0) await stopCluster();
    },
  };
}

function livingUsers(): string[] {
  try {
    return readdirSync(users).filter((pid) => isAlive(Number(pid)));
  } catch {
    return [];
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
