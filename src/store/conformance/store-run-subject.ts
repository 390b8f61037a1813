import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Host } from "../../base/host.ts";
import { readOwner } from "../../base/process-owner.ts";
import type { RunSource } from "../run-source.ts";
import type { RunStore } from "../run-store.ts";
import type { RunSourceAbility, RunSourceSubject, SubjectRun } from "./run-source-case.ts";
import { sampleRun } from "./sample-run.ts";

/** Abilities of a source that reads a `RunStore`. */
export const storeAbilities: readonly RunSourceAbility[] = ["values", "rewrites", "run_facts"];

/** Makes a subject of a store. Each run belongs to a process of its own, so that it can be killed. */
export function storeRunSubject(
  store: RunStore,
  host: Host,
  source: RunSource = store,
): RunSourceSubject & AsyncDisposable {
  const processes: ChildProcess[] = [];
  return {
    source,
    async openRun({ run: facts = {}, units = [] } = {}): Promise<SubjectRun> {
      const process = spawn("sleep", ["3600"], { stdio: "ignore" });
      processes.push(process);
      await once(process, "spawn");
      const run = sampleRun(facts);
      const lease = await store.create(run, readOwner({ ...host, pid: process.pid ?? 0 }));
      await lease.write(units);
      return {
        id: run.id,
        write: (more) => lease.write(more),
        finish: (status = "completed") =>
          lease.end({ ...run, status, isResumable: status !== "completed", endedAt: run.createdAt + 60_000 }),
        kill: () => end(process),
      };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(processes.map(end));
    },
  };
}

async function end(process: ChildProcess): Promise<void> {
  if (process.exitCode !== null || process.signalCode !== null) return;
  const exit = once(process, "exit");
  process.kill("SIGKILL");
  await exit;
}
