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
import { openBareEngine } from "./trials/bare-engine.ts";
import { Bars } from "./trials/bars.ts";
import { measure, median, rate, sumCosts, type Cost } from "./trials/measure.ts";
import { runTrials } from "./trials/run-trials.ts";
import { takeTurns, type Contender, type Outcome } from "./trials/take-turns.ts";
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

try {
  const taskDirectory = writeTrivialTask(join(root, "tasks"), image);
  const engine = await openBareEngine({ directory: join(root, "floor"), taskDirectory, image });
  if (typeof engine === "string") throw new Error(engine);
  const harbor = openHarbor(join(root, "harbor"), join(root, "tasks"));
  console.log(`engine: ${engine.description}`);
  console.log(`Harbor: ${typeof harbor === "string" ? harbor : harbor.version}`);
  await runDocker("warm-up", dockerProviderModule, 4, 4);
  await runDocker("warm-up-plain", plainModule, 4, 4);
  for (const inFlight of timeBars.keys()) {
    await benchTrials(inFlight, {
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

async function benchTrials(inFlight: number, contenders: Readonly<Record<string, Contender | null>>): Promise<void> {
  judge(inFlight, await takeTurns({ inFlight, rounds, trials: Math.max(8, inFlight * 3), contenders }));
}

function judge(inFlight: number, outcomes: ReadonlyMap<string, Outcome>): void {
  const where = `at ${inFlight} in flight`;
  const floor = outcomes.get("floor")?.costs ?? [];
  const timeOf = (name: string): number =>
    median(
      (outcomes.get(name)?.costs ?? []).map((cost, round) =>
        floor[round] ? rate(floor[round]) / rate(cost) : Infinity,
      ),
    );
  const bar = timeBars.get(inFlight) ?? 1;
  const [time, plainTime] = [timeOf("us"), timeOf("plain")];
  bars.report(`${time.toFixed(2)} x the floor's time ${where} (bar: ${bar})`, time <= bar);
  bars.report(`${plainTime.toFixed(2)} x on the plain path ${where} (bar: 1.05)`, plainTime <= 1.05);
  const { cpuMs, trials } = sumCosts(outcomes.get("us")?.costs ?? []);
  bars.report(`${(cpuMs / trials).toFixed(1)} ms CPU per trial ${where} (bar: 40)`, cpuMs / trials <= 40);
  const processes = (outcomes.get("us")?.processes ?? 0) + (outcomes.get("plain")?.processes ?? 0);
  bars.report(`${processes} processes started ${where} (bar: 0)`, processes === 0);
}

function runDocker(name: string, module: ProviderModule, trials: number, inFlight: number): Promise<Cost> {
  return runTrials({ root, name, environment: { type: "docker", module }, trials, inFlight });
}
