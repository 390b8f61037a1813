import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Bars } from "../trials/bars.ts";

export interface MemoryOptions {
  readonly root: string;
  readonly image: string;
  /** How many trials are in flight at once; 0 leaves that out. */
  readonly many: number;
  readonly bars: Bars;
}

const pollMs = 50;
const testScript = "echo 1 >/logs/verifier/reward.txt\n";

/** How much memory the built command needs while an agent prints much, and while many trials are in flight. */
export async function benchMemory({ root, image, many, bars }: MemoryOptions): Promise<void> {
  console.log("\nmemory of the command, at its most");
  const dataset = join(root, "memory-tasks");
  writeTask(join(dataset, "waits"), image);
  const loud = "yes 'a line of output that is as long as many are' | head -c 200000000";
  const loudBytes = await readPeak(root, "loud", dataset, { execute: loud, inFlight: 1 });
  bars.report(`${megabytes(loudBytes)} MB while an agent prints 200 MB (bar: 120)`, loudBytes <= 120e6);
  if (many === 0) return;
  // Long enough that the first still runs when the last has started.
  const bytes = await readPeak(root, "many", dataset, { execute: `sleep ${30 + many}`, inFlight: many });
  bars.report(`${megabytes(bytes)} MB with ${many} in flight (bar: 250)`, bytes <= 250e6);
}

function writeTask(directory: string, image: string): void {
  const files = {
    "task.toml": `version = "1.0"\n[environment]\ndocker_image = "${image}"\nmemory = "64M"\n`,
    "instruction.md": "Wait.\n",
    "tests/test.sh": testScript,
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(directory, path, ".."), { recursive: true });
    writeFileSync(join(directory, path), text);
  }
}

async function readPeak(
  root: string,
  name: string,
  dataset: string,
  { execute, inFlight }: { readonly execute: string; readonly inFlight: number },
): Promise<number> {
  const job = {
    name,
    jobs_dir: root,
    n_attempts: inFlight,
    n_concurrent_trials: inFlight,
    environment: { type: "docker" },
    agents: [{ name: "bench", execute }],
    datasets: [{ path: dataset }],
  };
  const file = join(root, `${name}.json`);
  writeFileSync(file, JSON.stringify(job));
  const child = spawn(process.execPath, ["dist/bin.js", file], { stdio: ["ignore", "ignore", "inherit"] });
  let peak = 0;
  const timer = setInterval(() => (peak = Math.max(peak, readPeakOf(child.pid ?? 0))), pollMs);
  const code = await new Promise((resolve) => child.once("close", resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`the command ended with ${String(code)}`);
  return peak;
}

// The kernel keeps the highest value, so nothing is missed between two looks but the very end.
function readPeakOf(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

function megabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(0);
}
