// What a trial costs on the local environment, interleaved with the same mounts, commands and copies from a shell
// script (the floor) and with a Docker engine where one answers. ROLLOUT_BENCH_TRIALS sets the length of the long job
// (2,000), ROLLOUT_BENCH_ROUNDS how often the contenders take turns (5).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runJob } from "../src/public/jobs.ts";
import { openDockerEngine } from "./local/docker-engine.ts";
import { startMeter, sumCosts, type Cost } from "./local/measure.ts";
import { openSubject, type IdleMemory } from "./local/subject.ts";
import { writeTrivialTask } from "./local/trivial-task.ts";

const longTrials = Number(process.env["ROLLOUT_BENCH_TRIALS"] ?? 2000);
const rounds = Number(process.env["ROLLOUT_BENCH_ROUNDS"] ?? 5);
const root = mkdtempSync(join(tmpdir(), "rollout-bench-"));
const bars: { readonly text: string; readonly isMet: boolean }[] = [];

try {
  const task = writeTrivialTask(join(root, "tasks"));
  await runTrials(8, 8, "warm-up");
  await using subject = await openSubject(task);
  const engine = await openDockerEngine(join(root, "docker"), task);
  console.log(`Docker: ${typeof engine === "string" ? engine : engine.description}`);
  console.log(`floor: ${subject.floor === null ? "only measured for root" : "a shell script with util-linux"}`);
  benchIdle(subject.idle);
  for (const inFlight of [1, 8, 32]) {
    await benchTrials(inFlight, {
      floor: subject.floor === null ? null : (trials) => measure(trials, () => subject.floor?.run(trials, inFlight)),
      us: (trials, round) => runTrials(trials, inFlight, `at-${inFlight}-${round}`),
      docker: typeof engine === "string" ? null : (trials) => measure(trials, () => engine.run(trials, inFlight)),
    });
  }
  if (longTrials > 0) await benchMemory();
  console.log("\nbars");
  for (const { text, isMet } of bars) console.log(`  ${isMet ? "met    " : "NOT met"}  ${text}`);
} finally {
  rmSync(root, { recursive: true, force: true });
}

type Contender = (trials: number, round: number) => Promise<Cost>;

async function benchTrials(
  inFlight: number,
  contenders: { readonly floor: Contender | null; readonly us: Contender; readonly docker: Contender | null },
): Promise<void> {
  const trials = Math.max(12, inFlight * 2);
  const costs = new Map<string, Cost[]>();
  for (let round = 0; round < rounds; round++) {
    for (const [name, contender] of Object.entries(contenders)) {
      if (contender !== null) costs.set(name, [...(costs.get(name) ?? []), await contender(trials, round)]);
    }
  }
  console.log(`\n${inFlight} in flight, ${rounds} rounds of ${trials} trials each`);
  const [floor, us, docker] = ["floor", "us", "docker"].map((name) => costs.get(name) ?? null);
  for (const [name, list] of costs) {
    const { cpuMs, wallMs, trials: count } = sumCosts(list);
    const cpu = name === "docker" ? "its CPU is the engine's" : `${(cpuMs / count).toFixed(0)} ms CPU per trial`;
    const rates = list.map(rate);
    console.log(
      `  ${name.padEnd(7)} ${((count / wallMs) * 1000).toFixed(1).padStart(6)} trials/s (${Math.min(...rates).toFixed(1)} to ${Math.max(...rates).toFixed(1)}), ${cpu}`,
    );
  }
  if (floor && us) {
    const times = median(floor.map((cost, round) => rate(cost) / rate(us[round] ?? cost)));
    const cpu = median(floor.map((cost, round) => (us[round]?.cpuMs ?? 0) / cost.cpuMs));
    report(
      `${times.toFixed(2)} x the floor's time at ${inFlight} in flight (bar: 1.3); CPU ${cpu.toFixed(2)} x`,
      times <= 1.3,
    );
  }
  if (us) {
    const { cpuMs, trials: count } = sumCosts(us);
    report(`${(cpuMs / count).toFixed(0)} ms CPU per trial at ${inFlight} in flight (bar: 130)`, cpuMs / count <= 130);
  }
  if (docker && us) {
    const times = median(us.map((cost, round) => rate(cost) / rate(docker[round] ?? cost)));
    report(`${times.toFixed(1)} x Docker's trials/s at ${inFlight} in flight (bar: 4)`, times >= 4);
  }
}

function benchIdle({ processes, aloneBytes, eachBytes }: IdleMemory): void {
  const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(2);
  console.log("");
  report(
    `an idle sandbox: ${processes} processes, ${megabytes(eachBytes)} MB among several, ${megabytes(aloneBytes)} MB when it is the only one (bar: 1)`,
    eachBytes < 1e6,
  );
}

async function benchMemory(): Promise<void> {
  const marks = [100, 500, 1000, 2000].filter((mark) => mark <= longTrials);
  const rss = new Map<number, number>();
  await runTrials(longTrials, 8, "long", (finished) => {
    if (!marks.includes(finished)) return;
    global.gc?.();
    rss.set(finished, process.memoryUsage.rss() / 1e6);
  });
  const [first, last] = [rss.get(marks.at(1) ?? 0) ?? 0, rss.get(marks.at(-1) ?? 0) ?? 0];
  console.log(`\none job of ${longTrials} trials, 8 in flight`);
  for (const [mark, megabytes] of rss) console.log(`  RSS after ${mark}: ${megabytes.toFixed(0)} MB`);
  report(
    `RSS grew ${(last - first).toFixed(0)} MB from ${marks.at(1)} to ${marks.at(-1)} trials (bar: 10)`,
    last - first < 10,
  );
}

// From the first trial on: what a job does once is not what a trial costs.
async function runTrials(
  trials: number,
  inFlight: number,
  name: string,
  onFinished: (finished: number) => void = () => {},
): Promise<Cost> {
  let finished = 0;
  let stop: ((trials: number) => Cost) | null = null;
  const { result } = await runJob(
    {
      name,
      jobs_dir: root,
      n_attempts: trials,
      n_concurrent_trials: inFlight,
      environment: { type: "local" },
      agents: [{ name: "oracle" }],
      datasets: [{ path: join(root, "tasks") }],
    },
    {
      onEvent: (event) => {
        if (event.type === "unit_started") stop ??= startMeter();
        if (event.type === "unit_finished") onFinished(++finished);
      },
    },
  );
  if (result.completed_trials !== trials || result.pass_rate !== 1)
    throw new Error(`expected ${trials} passes: ${JSON.stringify(result.errors)}`);
  const end = stop as ((trials: number) => Cost) | null;
  if (end === null) throw new Error("no trial has started");
  const cost = end(trials);
  rmSync(join(root, name), { recursive: true, force: true });
  return cost;
}

async function measure(trials: number, work: () => Promise<void> | undefined): Promise<Cost> {
  const stop = startMeter();
  await work();
  return stop(trials);
}

function report(text: string, isMet: boolean): void {
  bars.push({ text, isMet });
  console.log(`  ${text}`);
}

function rate({ trials, wallMs }: Cost): number {
  return (trials / wallMs) * 1000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
