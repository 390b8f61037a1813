import type { Host } from "./host.ts";
import { readStartTicks } from "./process-start.ts";
import { systemCodeOf } from "./rollout-error.ts";

/** A process that says something is its own. */
export interface ProcessOwner {
  readonly pid: number;
  readonly bootId: string;
  readonly hostname: string;
  /** Null where the system does not tell. */
  readonly startTicks: number | null;
}

// A process of another machine cannot be asked; after this long without a sign it is taken for dead.
const longestForeignMs = 6 * 3_600_000;

/** This process as an owner. */
export function readOwner(host: Host): ProcessOwner {
  return { pid: host.pid, bootId: host.bootId, hostname: host.hostname, startTicks: readStartTicks(host.pid) };
}

/** The owner written in a text; null when there is none in it. */
export function parseOwner(text: string): ProcessOwner | null {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null) return null;
    if (!("pid" in value && "bootId" in value && "hostname" in value)) return null;
    const { pid, bootId, hostname } = value;
    if (typeof pid !== "number" || typeof bootId !== "string" || typeof hostname !== "string") return null;
    const startTicks = "startTicks" in value && typeof value.startTicks === "number" ? value.startTicks : null;
    return Number.isInteger(pid) && pid > 0 ? { pid, bootId, hostname, startTicks } : null;
  } catch {
    return null;
  }
}

/** Whether an owner still lives, as far as this machine can tell; `ageMs` is how long ago it gave its last sign. */
export function isOwnerAlive(owner: ProcessOwner, host: Host, ageMs: number): boolean {
  if (owner.hostname !== host.hostname) return ageMs < longestForeignMs;
  // Only Linux has an id that two processes of one boot share.
  if (host.platform === "linux" && owner.bootId !== host.bootId) return false;
  if (owner.startTicks !== null) return readStartTicks(owner.pid) === owner.startTicks;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return systemCodeOf(error) === "EPERM";
  }
}
