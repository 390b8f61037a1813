import { readFileSync } from "node:fs";

const ticksPerSecond = 100;

/** What some trials took: the time on the wall, and the processors' time of a process and of all it waited for. */
export interface Cost {
  readonly trials: number;
  readonly wallMs: number;
  readonly cpuMs: number;
}

/** A clock of both times, running from now on. */
export function startMeter(pid: number | "self" = "self"): (trials: number) => Cost {
  const startMs = performance.now();
  const startCpuMs = readCpuMs(pid);
  return (trials) => ({ trials, wallMs: performance.now() - startMs, cpuMs: readCpuMs(pid) - startCpuMs });
}

/** What the work cost, which is that of so many trials. */
export async function measure(trials: number, work: () => Promise<void> | undefined): Promise<Cost> {
  const stop = startMeter();
  await work();
  return stop(trials);
}

/** Trials per second. */
export function rate({ trials, wallMs }: Cost): number {
  return (trials / wallMs) * 1000;
}

/** The one in the middle. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

/** The sum of several costs. */
export function sumCosts(costs: readonly Cost[]): Cost {
  return costs.reduce(
    (sum, cost) => ({
      trials: sum.trials + cost.trials,
      wallMs: sum.wallMs + cost.wallMs,
      cpuMs: sum.cpuMs + cost.cpuMs,
    }),
    { trials: 0, wallMs: 0, cpuMs: 0 },
  );
}

/** The share of memory that the given processes and all below them have, in bytes. */
export function readMemoryShare(rootPid: number): { readonly processes: number; readonly bytes: number } {
  const pids = [rootPid];
  // The list grows while it is walked: children come after their parents.
  for (const pid of pids) {
    const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    if (text !== "") pids.push(...text.split(" ").map(Number));
  }
  const shares = pids.map((pid) => /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]);
  return { processes: pids.length, bytes: shares.reduce((sum, share) => sum + Number(share ?? 0) * 1024, 0) };
}

// Children count once they have been waited for, so a batch is measured when all of its processes are gone; a child that
// starts others for the process and is still there counts by itself.
function readCpuMs(pid: number | "self"): number {
  const children = readFileSync(`/proc/${pid}/task/${pid === "self" ? process.pid : pid}/children`, "utf8");
  const pids = [pid, ...children.trim().split(" ").filter(Boolean)];
  return pids.reduce<number>((sum, each) => sum + readOwnCpuMs(each), 0);
}

function readOwnCpuMs(pid: number | string): number {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    // It ended just now.
    return 0;
  }
  const fields = stat
    .slice(stat.lastIndexOf(")") + 2)
    .split(" ")
    .map(Number);
  const ticks = fields.slice(11, 15).reduce((sum, value) => sum + value, 0);
  return (ticks * 1000) / ticksPerSecond;
}
