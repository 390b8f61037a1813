import { readFileSync } from "node:fs";

/** When a process began, in ticks of this boot, so that it is told from a later one with its id; null when there is none, or not on Linux. */
export function readStartTicks(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of a process may hold blanks and brackets; what follows the last one is regular.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields[0] === "Z" || fields[0] === "X" ? null : Number(fields[19]);
  } catch {
    return null;
  }
}
