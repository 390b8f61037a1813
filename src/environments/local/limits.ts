import { defaultPidsLimit, type Capabilities, type Enforcement, type ResourceLimits } from "../environment.ts";
import type { LocalConfig } from "./local-config-schema.ts";

/** How well each limit is kept with what the machine has. */
export function planEnforcement(hasGroups: boolean, storage: LocalConfig["storage"]): Capabilities["limits"] {
  const bounded: Enforcement = hasGroups ? "enforced" : "advisory";
  return { cpus: bounded, memory: bounded, storage: storage === "memory" ? "enforced" : "advisory", pids: bounded };
}

/** Shell text that bounds a process and what it starts without control groups: each process by itself, so as a hint. */
export function planProcessLimits(limits: ResourceLimits, hasGroups: boolean, hostCpus: number): string {
  const kibibytes = (bytes: number): number => Math.max(1, Math.floor(bytes / 1024));
  const words = [`ulimit -f ${kibibytes(limits.storageBytes)}`];
  if (!hasGroups) {
    // Data, not address space: many runtimes reserve far more addresses than they will ever use.
    words.push(`ulimit -d ${kibibytes(limits.memoryBytes)}`, `ulimit -u ${limits.pids ?? defaultPidsLimit}`);
    const cpus = Math.ceil(limits.cpus);
    if (cpus < hostCpus) words.push(`taskset -cp ${pickCpus(cpus, hostCpus)} $$ >/dev/null`);
  }
  return words.map((word) => `${word} 2>/dev/null; `).join("");
}

function pickCpus(count: number, hostCpus: number): string {
  // At random, so that environments spread over the machine.
  const first = Math.floor(Math.random() * hostCpus);
  return Array.from({ length: count }, (_, index) => (first + index) % hostCpus).join(",");
}
