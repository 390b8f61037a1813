// What a trial costs on a Docker engine, interleaved with the bare calls of the Engine API that none can do without
// (the floor). "plain" is the way of an engine that shares no files with us. ROLLOUT_BENCH_ROUNDS sets how often the
// contenders take turns (5), ROLLOUT_BENCH_MANY how many trials are in flight for the memory of many (0: not measured).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dockerProviderModule } from "../src/environments/docker/docker-provider.ts";
import type { ProviderModule } from "../src/environments/environment.ts";
import { benchMemory } from "./docker/memory.ts";
import { openHarbor } from "./docker/harbor.ts";
import { processesPerTrial, startCounting, type Counts } from "./trials/counts.ts";
import { openBareEngine } from "./trials/bare-engine.ts";
import { Bars } from "./trials/bars.ts";
import { measure, median, rate, sumCosts, type Cost } from "./trials/measure.ts";
import { runTrials } from "./trials/run-trials.ts";
import { writeTrivialTask } from "./trials/trivial-task.ts";

const image = "debian:bookworm-slim";
const rounds = Number(process.env["ROLLOUT_BENCH_ROUNDS"] ?? 5);
const many = Number(process.env["ROLLOUT_BENCH_MANY"] ?? 0);
const timeBars = new Map([
  [1, 0.9],
  [4, 0.9],
  [8, 0.95],
]);
const root = mkdtempSync(join(tmpdir(), "rollout-bench-"));
const bars = new Bars();

// Only root can have the logs of a container on this machine.
const plainModule: ProviderModule = {
  ...dockerProviderModule,
  open: (options) => dockerProviderModule.open({ ...options, host: { ...options.host, uid: 1 } }),
};

type Contender = (trials: number, round: number) => Promise<Cost>;

try {
  const taskDirectory = writeTrivialTask(join(root, "tasks"), image);
  const engine = await openBareEngine({ directory: join(root, "floor"), taskDirectory, image });
  if (typeof engine === "string") throw new Error(engine);
  const harbor = openHarbor(join(root, "harbor"), join(root, "tasks"));
  console.log(`engine: ${engine.description}`);
  console.log(`Harbor: ${typeof harbor === "string" ? harbor : harbor.version}`);
  await runDocker("warm-up", dockerProviderModule, 4, 4);
  await runDocker("warm-up-plain", plainModule, 4, 4);
  const ones = new Map([
    ["us", await countOne("one", dockerProviderModule)],
    ["plain", await countOne("one-plain", plainModule)],
  ]);
  for (const [name, { programs }] of ones) console.log(`a job starts (${name}): ${programs.join(", ") || "nothing"}`);
  for (const inFlight of timeBars.keys()) {
    await benchTrials(inFlight, ones, {
      floor: (trials) => measure(trials, () => engine.run(trials, inFlight)),
      us: (trials, round) => runDocker(`us-${inFlight}-${round}`, dockerProviderModule, trials, inFlight),
      plain: (trials, round) => runDocker(`plain-${inFlight}-${round}`, plainModule, trials, inFlight),
      harbor: typeof harbor === "string" ? null : (trials) => measure(trials, () => harbor.run(trials, inFlight)),
    });
  }
  await benchMemory({ root, image, many, bars });
  bars.print();
} finally {
  rmSync(root, { recursive: true, force: true });
}

async function benchTrials(
  inFlight: number,
  ones: ReadonlyMap<string, Counts>,
  contenders: Readonly<Record<string, Contender | null>>,
): Promise<void> {
  // Enough that what a job does once, such as looking at its image, hardly counts.
  const trials = Math.max(16, inFlight * 4);
  const costs = new Map(Object.keys(contenders).map((name) => [name, [] as Cost[]]));
  const counts = new Map<string, Counts>();
  for (let round = 0; round < rounds; round++) {
    // The first of a round finds another engine than the last, so they take turns.
    const order = Object.entries(contenders);
    for (const [name, run] of round % 2 === 0 ? order : order.toReversed()) {
      if (run === null) continue;
      const stop = startCounting();
      costs.get(name)?.push(await run(trials, round));
      counts.set(name, stop());
    }
  }
  console.log(`\n${inFlight} in flight, ${rounds} rounds of ${trials} trials each`);
  const processesOf = (name: string): number => {
    const [one, counted] = [ones.get(name), counts.get(name)];
    return one && counted ? processesPerTrial(one, counted, trials) : 0;
  };
  for (const [name, list] of costs) {
    if (list.length === 0) continue;
    const total = sumCosts(list);
    const { calls = 0 } = counts.get(name) ?? {};
    console.log(
      `  ${name.padEnd(7)} ${(1000 / rate(total)).toFixed(0).padStart(6)} ms per trial, ${(total.cpuMs / total.trials).toFixed(1)} ms CPU, ` +
        `${processesOf(name).toFixed(1)} processes and ${(calls / trials).toFixed(1)} calls`,
    );
  }
  judge(inFlight, costs, processesOf("us") + processesOf("plain"));
}

function judge(inFlight: number, costs: ReadonlyMap<string, readonly Cost[]>, processes: number): void {
  const where = `at ${inFlight} in flight`;
  const floor = costs.get("floor") ?? [];
  const timeOf = (name: string): number =>
    median((costs.get(name) ?? []).map((cost, round) => (floor[round] ? rate(floor[round]) / rate(cost) : Infinity)));
  const bar = timeBars.get(inFlight) ?? 1;
  const [time, plainTime] = [timeOf("us"), timeOf("plain")];
  bars.report(`${time.toFixed(2)} x the floor's time ${where} (bar: ${bar})`, time <= bar);
  bars.report(`${plainTime.toFixed(2)} x on the plain path ${where} (bar: 1.05)`, plainTime <= 1.05);
  const { cpuMs, trials } = sumCosts(costs.get("us") ?? []);
  bars.report(`${(cpuMs / trials).toFixed(1)} ms CPU per trial ${where} (bar: 40)`, cpuMs / trials <= 40);
  bars.report(`${processes.toFixed(1)} processes per trial ${where} (bar: 0)`, processes === 0);
}

async function countOne(name: string, module: ProviderModule): Promise<Counts> {
  const stop = startCounting();
  await runDocker(name, module, 1, 1);
  return stop();
}

function runDocker(name: string, module: ProviderModule, trials: number, inFlight: number): Promise<Cost> {
  return runTrials({ root, name, environment: { type: "docker", module }, trials, inFlight });
}
