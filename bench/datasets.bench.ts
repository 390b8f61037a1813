// What a dataset run adds to its items: ours, Mastra, promptfoo and evalite on the same trivial ones, each a process of
// its own, in turns; then losses, a run of a million items and the event loop. ROLLOUT_BENCH_ROUNDS sets how often they
// take turns (3), ROLLOUT_BENCH_SCORERS with how many scorers (0,1,3; the bars are about 1), ROLLOUT_BENCH_ITEMS the
// length of the long run (1,000,000; 0 for none); ROLLOUT_BENCH_INSTALL=1 installs the others into the user's cache
// first (2.7 GB).
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { findPeers } from "../tests/peers/find-peers.ts";
import { installPeers } from "../tests/peers/install-peers.ts";
import { runContender, type Outcome, type StoreKind } from "./datasets/contender.ts";
import { printCosts, type Costs } from "./datasets/costs.ts";
import type { LoopDelay, LoopDelays } from "./datasets/event-loop.ts";
import { compare, judgeLosses, judgeRatios } from "./datasets/judge.ts";
import type { LongOutcome } from "./datasets/long-run.ts";
import { runCompiled } from "./datasets/run-compiled.ts";
import { Bars } from "./trials/bars.ts";

const rounds = Number(process.env["ROLLOUT_BENCH_ROUNDS"] ?? 3);
const scorerCounts = (process.env["ROLLOUT_BENCH_SCORERS"] ?? "0,1,3").split(",").map(Number);
const longItems = Number(process.env["ROLLOUT_BENCH_ITEMS"] ?? 1_000_000);
// Long enough for each that its rate stands still; the others' grow dearer with every thousand.
const itemsOf: Readonly<Record<string, number>> = { ours: 100_000, mastra: 1000, promptfoo: 1000, evalite: 1000 };
// Like is held against like. Mastra and evalite have a store of the process's memory, from which results are read again
// when the run is over, as ours has. promptfoo has none: what it does not write to its SQLite file it keeps in the list
// that it returns, as a run of ours without a store does. All of ours keep every result for the summary as well. In a
// file, all four write each item as it ends: Mastra through libSQL, the others to SQLite.
const modesOf: Readonly<Record<string, readonly StoreKind[]>> = {
  ours: ["none", "memory", "file"],
  mastra: ["memory", "file"],
  promptfoo: ["none", "file"],
  evalite: ["memory", "file"],
};
const inFlight = 5;
const peersFolder = join(import.meta.dirname, "datasets");
const bars = new Bars();
await bench();

async function bench(): Promise<void> {
  const contenders = await findContenders();
  console.log(
    `${cpus().length} cores, load ${loadavg()
      .map((load) => load.toFixed(1))
      .join(" ")} before`,
  );
  const costs = await takeTurns(contenders);
  judgeRatios(costs, bars);
  judgeOverhead(costs);
  await benchLosses(contenders.filter((name) => name === "ours" || name === "mastra"));
  await benchLoop();
  if (longItems > 0) await benchMemory();
  console.log(
    `\nload ${loadavg()
      .map((load) => load.toFixed(1))
      .join(" ")} after`,
  );
  bars.print();
}

async function findContenders(): Promise<readonly string[]> {
  const problem = process.env["ROLLOUT_BENCH_INSTALL"] === "1" ? installPeers(peersFolder) : null;
  if (problem !== null) console.log(`the others could not be installed: ${problem}`);
  if ((await findPeers(peersFolder)) !== null) return Object.keys(itemsOf);
  console.log("missing: mastra, promptfoo, evalite; ROLLOUT_BENCH_INSTALL=1 installs them");
  return ["ours"];
}

async function takeTurns(contenders: readonly string[]): Promise<Costs> {
  const costs: Costs = new Map();
  for (let round = 0; round < rounds; round++) {
    for (const store of ["none", "memory", "file"] as const) {
      for (const scorers of scorerCounts) {
        const able = contenders.filter((name) => modesOf[name]?.includes(store));
        const turn = round % 2 === 0 ? able : able.toReversed();
        for (const name of turn) {
          const order = { items: itemsOf[name] ?? 0, scorers, store, inFlight };
          const outcome = await runContender(name, order).catch(report);
          const key = `${name} ${store} ${scorers}`;
          if (outcome === null) continue;
          costs.set(key, [...(costs.get(key) ?? []), { ...outcome, round }]);
          const [wallUs, cpuUs] = [outcome.wallMs, outcome.cpuMs].map((ms) => ((ms * 1000) / outcome.items).toFixed(1));
          console.log(`  round ${round + 1}, ${key}: ${wallUs} µs, ${cpuUs} µs CPU`);
        }
      }
    }
  }
  console.log(`\n${inFlight} in flight, ${rounds} rounds, medians; without start-up and the making of the dataset`);
  printCosts(costs, contenders, scorerCounts);
  return costs;
}

function judgeOverhead(costs: Costs): void {
  const perItem = (costs.get("ours none 1") ?? []).map(({ cpuMs, items }) => (cpuMs * 1000) / items);
  const most = Math.max(...perItem);
  console.log("\nnothing stored, one scorer");
  bars.report(`at most ${most.toFixed(0)} µs CPU per item in ${rounds} rounds (bar: 50)`, most < 50);
}

async function benchLosses(contenders: readonly string[]): Promise<void> {
  console.log("\nresults that a SQL file has afterwards, one scorer");
  for (const atOnce of [1, 5, 10, 50]) {
    const outcomes = new Map<string, Outcome>();
    for (const name of contenders) {
      const items = name === "ours" ? 20_000 : 2000;
      const outcome = await runContender(name, { items, scorers: 1, store: "file", inFlight: atOnce }).catch(report);
      if (outcome === null) continue;
      judgeLosses(name, atOnce, outcome, bars);
      outcomes.set(name, outcome);
    }
    const [ours, theirs] = [outcomes.get("ours"), outcomes.get("mastra")];
    if (ours && theirs) console.log(`    ${compare(ours, theirs)}`);
  }
}

// Some stores of others give up now and then; the rest of the run is worth having all the same.
function report(problem: Error): null {
  console.log(`  ended with an error: ${problem.message}`);
  return null;
}

async function benchLoop(): Promise<void> {
  console.log("\nhow long the event loop is held, ms, seen by a timer of 1 ms");
  const say = ({ p50, p99, max }: LoopDelay): string => [p50, p99, max].map((ms) => ms.toFixed(1)).join(" / ");
  for (const atOnce of [5, 50]) {
    const order = { items: 100_000, scorers: 1, store: "file", inFlight: atOnce } as const;
    const { idle, busy, running, storing } = await runContender<LoopDelays>("event-loop", order);
    console.log(
      `  p50 / p99 / max at ${atOnce} in flight: idle ${say(idle)}; sums ${say(busy)}; running ${say(running)}; storing ${say(storing)}`,
    );
    for (const [what, { p99 }] of Object.entries({ running, storing })) {
      const [more, fair] = [p99 - idle.p99, p99 - busy.p99];
      const text = `p99 ${more.toFixed(1)} ms beyond an idle loop's, ${fair.toFixed(1)} beyond one of sums`;
      bars.report(`${text}, ${what}, ${atOnce} in flight (bar: 10 beyond idle)`, more < 10);
    }
  }
}

async function benchMemory(): Promise<void> {
  const order = { items: longItems, scorers: 1, store: "file", inFlight } as const;
  const { items, wallMs, cpuMs, windowBytes, results, scores } = await runCompiled<LongOutcome>("long-run", order);
  const megabytes = windowBytes.map((bytes) => bytes / 1e6);
  const peak = Math.max(...megabytes);
  const grown = Math.max(...megabytes.slice(-5)) - Math.max(...megabytes.slice(0, 10));
  console.log(`\n${items} items from a SQLite file into it, one scorer, retainResults: false`);
  console.log(
    `  ${((items / wallMs) * 1000).toFixed(0)} items/s, ${((cpuMs * 1000) / items).toFixed(0)} µs CPU per item`,
  );
  console.log(`  RSS in windows of a twentieth, MB: ${megabytes.map((each) => each.toFixed(0)).join(" ")}`);
  bars.report(`${peak.toFixed(0)} MB at most (bar: 250)`, peak < 250);
  bars.report(`${grown.toFixed(0)} MB more in the last quarter than in the first half (bar: 20)`, grown < 20);
  bars.report(`${items - results} results and ${items - scores} scores lost`, results === items && scores === items);
}
