// What a trial costs on the local environment, interleaved with the same mounts, commands and copies from a shell
// script (the floor) and with a Docker engine where one answers. ROLLOUT_BENCH_TRIALS sets the length of the long job
// (2,000), ROLLOUT_BENCH_ROUNDS how often the contenders take turns (3); ROLLOUT_BENCH_DISK=machine stays on its disk.
import { join } from "node:path";
import { Bars } from "./trials/bars.ts";
import { openBareEngine } from "./trials/bare-engine.ts";
import { measure, median, rate, sumCosts, type Cost } from "./trials/measure.ts";
import { openBenchDisk } from "./local/own-disk.ts";
import { openSubject, type IdleMemory } from "./local/subject.ts";
import { runCommand } from "./trials/run-command.ts";
import { runTrials } from "./trials/run-trials.ts";
import { writeTrivialTask } from "./trials/trivial-task.ts";

const longTrials = Number(process.env["ROLLOUT_BENCH_TRIALS"] ?? 2000);
const rounds = Number(process.env["ROLLOUT_BENCH_ROUNDS"] ?? 3);
using disk = openBenchDisk("rollout-bench-");
const root = disk.directory;
// Environments of all contenders and results lie on the same disk.
process.env["XDG_CACHE_HOME"] = join(root, "cache");
const bars = new Bars();
await bench();

async function bench(): Promise<void> {
  console.log(`files: ${disk.description}`);
  const task = writeTrivialTask(join(root, "tasks"));
  await runLocal(8, 8, "warm-up");
  await using subject = await openSubject(task);
  const engine = await openBareEngine({ directory: join(root, "docker"), taskDirectory: task });
  console.log(`Docker: ${typeof engine === "string" ? engine : engine.description}`);
  console.log(`floor: ${subject.floor === null ? "only measured for root" : "a shell script with util-linux"}`);
  benchIdle(subject.idle);
  for (const inFlight of [1, 8, 32]) {
    await benchTrials(inFlight, {
      floor: subject.floor === null ? null : (trials) => measure(trials, () => subject.floor?.run(trials, inFlight)),
      us: (trials, round) =>
        runCommand({ root, environment: { type: "local" }, trials, inFlight, name: `at-${inFlight}-${round}` }),
      docker: typeof engine === "string" ? null : (trials) => measure(trials, () => engine.run(trials, inFlight)),
    });
  }
  if (longTrials > 0) await benchMemory();
  bars.print();
}

type Contender = (trials: number, round: number) => Promise<Cost>;

async function benchTrials(
  inFlight: number,
  contenders: { readonly floor: Contender | null; readonly us: Contender; readonly docker: Contender | null },
): Promise<void> {
  // Long enough that the start of a job, and its end where fewer are in flight, hardly count; an engine is too slow for that.
  const trials = Math.max(256, inFlight * 12);
  const dockerTrials = Math.max(4, inFlight);
  const costs: Record<keyof typeof contenders, Cost[]> = { floor: [], us: [], docker: [] };
  for (let round = 0; round < rounds; round++) {
    if (contenders.floor) costs.floor.push(await contenders.floor(trials, round));
    costs.us.push(await contenders.us(trials, round));
    if (contenders.docker) costs.docker.push(await contenders.docker(dockerTrials, round));
  }
  console.log(`\n${inFlight} in flight, ${rounds} rounds of ${trials} trials each (${dockerTrials} on Docker)`);
  for (const [name, list] of Object.entries(costs)) if (list.length > 0) printCosts(name, list);
  judge(inFlight, costs);
}

function printCosts(name: string, list: readonly Cost[]): void {
  const total = sumCosts(list);
  const cpu =
    name === "docker" ? "its CPU is the engine's" : `${(total.cpuMs / total.trials).toFixed(0)} ms CPU per trial`;
  const rates = list.map(rate);
  const range = `${Math.min(...rates).toFixed(1)} to ${Math.max(...rates).toFixed(1)}`;
  console.log(`  ${name.padEnd(7)} ${rate(total).toFixed(1).padStart(6)} trials/s (${range}), ${cpu}`);
}

function judge(inFlight: number, { floor, us, docker }: Record<"floor" | "us" | "docker", readonly Cost[]>): void {
  const where = `at ${inFlight} in flight`;
  const { cpuMs, trials } = sumCosts(us);
  const compare = (others: readonly Cost[], ratio: (own: Cost, other: Cost) => number): number =>
    median(others.flatMap((other, round) => (us[round] ? [ratio(us[round], other)] : [])));
  if (floor.length > 0) {
    const times = compare(floor, (own, other) => rate(other) / rate(own));
    const cpu = compare(floor, (own, other) => own.cpuMs / own.trials / (other.cpuMs / other.trials));
    bars.report(`${times.toFixed(2)} x the floor's time ${where} (bar: 1.3); CPU ${cpu.toFixed(2)} x`, times <= 1.3);
  }
  bars.report(`${(cpuMs / trials).toFixed(0)} ms CPU per trial ${where} (bar: 130)`, cpuMs / trials <= 130);
  if (docker.length > 0) {
    const times = compare(docker, (own, other) => rate(own) / rate(other));
    bars.report(`${times.toFixed(1)} x Docker's trials/s ${where} (bar: 4)`, times >= 4);
  }
}

function benchIdle({ processes, aloneBytes, eachBytes }: IdleMemory): void {
  const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(2);
  console.log("");
  bars.report(
    `an idle sandbox: ${processes} processes, ${megabytes(eachBytes)} MB among several, ${megabytes(aloneBytes)} MB when it is the only one (bar: 1)`,
    eachBytes < 1e6,
  );
}

async function benchMemory(): Promise<void> {
  const seen = new Map<number, { readonly rss: number; readonly inUse: number }>();
  await runLocal(longTrials, 8, "long", (finished) => {
    if (finished % 50 !== 0) return;
    global.gc?.();
    const { rss, heapTotal, heapUsed } = process.memoryUsage();
    // V8 doubles the room for new objects a few times in a long run, and keeps it although it is empty.
    seen.set(finished, { rss: rss / 1e6, inUse: (rss - heapTotal + heapUsed) / 1e6 });
  });
  console.log(`\none job of ${longTrials} trials, 8 in flight`);
  for (const mark of [100, 500, 1000, 2000]) {
    const at = seen.get(mark);
    if (at) console.log(`  RSS after ${mark}: ${at.rss.toFixed(0)} MB, ${at.inUse.toFixed(0)} MB without empty heap`);
  }
  // Halves are compared, without the time in which everything is new.
  const within = (from: number, to: number): number =>
    median([...seen].flatMap(([mark, { inUse }]) => (mark > from && mark <= to ? [inUse] : [])));
  const [before, after] = [within(longTrials / 8, longTrials / 2), within(longTrials / 2, longTrials)];
  bars.report(
    `RSS without empty heap: ${before.toFixed(0)} MB in the first half, ${after.toFixed(0)} MB in the second (bar: 10 % more)`,
    after < before * 1.1,
  );
}

function runLocal(
  trials: number,
  inFlight: number,
  name: string,
  onFinished: (finished: number) => void = () => {},
): Promise<Cost> {
  return runTrials({ root, name, environment: { type: "local" }, trials, inFlight, onFinished });
}
