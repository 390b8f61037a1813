import { formatBytes } from "../../base/quantity.ts";
import type { Host } from "../../base/host.ts";
import type { Enforcement, ResourceLimits } from "../environment.ts";

/** With less, not even the programs that make a sandbox can be loaded. */
const leastMemoryBytes = 8 * 1024 * 1024;

type Machine = Pick<Host, "cpus" | "memoryBytes">;

/** What is wrong with the limits of a task on this machine, and what of them cannot hold. */
export function checkLimits(limits: ResourceLimits, machine: Machine): { problems: string[]; warnings: string[] } {
  const { cpus, memoryBytes } = limits;
  const memory = formatBytes(memoryBytes);
  const has = `${Number((machine.memoryBytes / 1e9).toPrecision(2))}G`;
  return {
    problems:
      memoryBytes < leastMemoryBytes
        ? [`${memory} of memory is too little to start anything in; it takes at least ${formatBytes(leastMemoryBytes)}`]
        : [],
    warnings: [
      ...(memoryBytes > machine.memoryBytes
        ? [`a memory limit of ${memory} limits nothing: this machine has ${has}, and that is what trials can use`]
        : []),
      ...(cpus > machine.cpus
        ? [`a limit of ${cpus} CPUs limits nothing: this machine has ${machine.cpus}, and that is what trials can use`]
        : []),
    ],
  };
}

/** How well a limit is really kept: one above what the machine has is none. */
export function enforcementOf(asked: number, available: number, usual: Enforcement): Enforcement {
  return asked > available ? "none" : usual;
}
