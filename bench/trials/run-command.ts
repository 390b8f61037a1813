import { spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { startMeter, type Cost } from "./measure.ts";

export interface CommandRun {
  /** Where the tasks are and results go. */
  readonly root: string;
  readonly environment: Readonly<Record<string, unknown>>;
  readonly trials: number;
  readonly inFlight: number;
  readonly name: string;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** Runs oracle trials with the built command, as people do; what a job does before its first trial and after its last is not what a trial costs. */
export async function runCommand({ root, environment, trials, inFlight, name, env }: CommandRun): Promise<Cost> {
  const job = {
    name,
    jobs_dir: root,
    n_attempts: trials,
    n_concurrent_trials: inFlight,
    environment,
    agents: [{ name: "oracle" }],
    datasets: [{ path: join(root, "tasks") }],
  };
  const file = join(root, `${name}.json`);
  writeFileSync(file, JSON.stringify(job));
  const child = spawn(process.execPath, ["dist/bin.js", file, "--json=events"], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "ignore"],
  });
  // Waited for before anything else is measured, or its processors' time would count as the next one's.
  const gone = once(child, "close");
  let stop: ((trials: number) => Cost) | null = null;
  let cost: Cost | null = null;
  let passed = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const event = JSON.parse(line) as { type: string; unit?: { scores: { value: number | null }[] } };
    if (event.type === "unit_started") stop ??= startMeter(child.pid);
    if (event.type === "unit_finished" && event.unit?.scores[0]?.value === 1) passed++;
    if (event.type === "run_finished") cost = stop?.(trials) ?? null;
  }
  await gone;
  rmSync(join(root, name), { recursive: true, force: true });
  if (cost === null || passed !== trials) throw new Error(`expected ${trials} passes, saw ${passed}`);
  return cost;
}
