import { spawn } from "node:child_process";
import { readFileSync, statSync } from "node:fs";

/** What a process itself took, without those it started. */
export interface OwnCost {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakBytes: number;
  /** Until the watched file had its first line; null when none was watched. */
  readonly firstMs: number | null;
}

export interface OwnCostOptions {
  readonly command: readonly string[];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly watched?: string | undefined;
}

const lookEveryMs = 2;
const msPerTick = 10;

/** Runs a command to its end; throws when it fails. Its last few milliseconds may be missing from its processor time. */
export async function measureOwn({ command, cwd, env, watched }: OwnCostOptions): Promise<OwnCost> {
  const [program = "", ...args] = command;
  const from = performance.now();
  const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "ignore", "pipe"] });
  let [cpuMs, peakBytes, firstMs] = [0, 0, null as number | null];
  let complaint = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (complaint = (complaint + text).slice(-1000)));
  const timer = setInterval(() => {
    if (watched !== undefined && firstMs === null && isBegun(watched)) firstMs = performance.now() - from;
    const seen = look(child.pid ?? 0);
    if (seen !== null) ({ cpuMs, peakBytes } = seen);
  }, lookEveryMs);
  try {
    const code = await new Promise((resolve, reject) => child.once("close", resolve).once("error", reject));
    if (code !== 0) throw new Error(`${program} ended with ${String(code)}: ${complaint}`);
  } finally {
    clearInterval(timer);
  }
  return { wallMs: performance.now() - from, cpuMs, peakBytes, firstMs };
}

function isBegun(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

function look(pid: number): { readonly cpuMs: number; readonly peakBytes: number } | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const kilobytes = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    if (kilobytes === undefined) return null;
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * msPerTick, peakBytes: Number(kilobytes) * 1024 };
  } catch {
    // It is over.
    return null;
  }
}
