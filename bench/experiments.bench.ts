// What an experiment costs beside its tasks: our orchestrator and our Python executor against those of cat-experiments in
// turns, a message against a pipe with `cat`, memory from ten thousand to a million examples, and the first result.
// ROLLOUT_BENCH_ROUNDS sets how often they take turns (3), ROLLOUT_BENCH_EXAMPLES the longest run (1,000,000);
// ROLLOUT_BENCH_INSTALL=1 installs the other one into the user's cache first.
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { driveExecutor } from "./experiments/drive-executor.ts";
import { measureOwn, type OwnCost } from "./experiments/own-cost.ts";
import { openPeer, type Peer } from "./experiments/peer.ts";
import { Workshop, type Order } from "./experiments/workshop.ts";
import { Bars } from "./trials/bars.ts";
import { median } from "./trials/measure.ts";

const rounds = Number(process.env["ROLLOUT_BENCH_ROUNDS"] ?? 3);
const mostExamples = Number(process.env["ROLLOUT_BENCH_EXAMPLES"] ?? 1_000_000);
const peerExperiment = `
from cat.experiments import TaskOutput, evaluator, task
@task
def t(input): return TaskOutput(output={"answer": "x" * 100})
@evaluator
def a(input): return 1.0
@evaluator
def b(input): return 1.0
`;
const peerTasks = `
from cat.experiments import TaskOutput, task
@task
def t(input): return TaskOutput(output={"a": input.input["q"]})
`;
const oursTasks = `
from rollout_eval import task
@task
def t(input): return {"a": input["q"]}
`;
const bars = new Bars();
using shop = new Workshop();
await bench();

async function bench(): Promise<void> {
  tellLoad("before");
  const peer = openPeer(process.env["ROLLOUT_BENCH_INSTALL"] === "1");
  if (typeof peer === "string") console.log(`missing: cat-experiments 0.0.13; ${peer}`);
  else {
    await benchOrchestrators(peer);
    await benchPython(peer);
  }
  await benchMessages();
  await benchFirst();
  await benchMemory();
  tellLoad("after");
  bars.print();
}

async function benchOrchestrators(peer: Peer): Promise<void> {
  console.log("\nCPU of the orchestrator alone, µs per example of one task and two evaluations, start-up and all");
  const file = shop.write("peer_experiment.py", peerExperiment);
  const own = { command: peer.executor, file };
  for (const inFlight of [4, 32]) {
    const what = `Node executor, ${inFlight} in flight`;
    // Half of what a run of 30,000 takes is its start and what V8 compiles in its first seconds; the other has no such thing,
    // and its examples grow dearer with every thousand.
    await compare(peer, `${what}, 30,000 examples`, { ours: 30_000, peer: 3000, bar: null }, { inFlight });
    await compare(peer, `${what}, 200,000 examples`, { ours: 200_000, peer: 3000, bar: 8 }, { inFlight });
  }
  await compare(
    peer,
    "its Python executor, 4 in flight",
    { ours: 2000, peer: 2000, bar: null },
    { inFlight: 4, executor: own },
  );
}

async function compare(
  peer: Peer,
  what: string,
  examples: { readonly ours: number; readonly peer: number; readonly bar: number | null },
  order: Omit<Order, "examples">,
): Promise<void> {
  const seen = await takeTurns({
    ours: () => shop.runOurs({ ...order, examples: examples.ours }),
    peer: () => shop.runPeer(peer, { ...order, examples: examples.peer }),
  });
  const ours = seen.ours.map(({ cpuMs }) => (cpuMs * 1000) / examples.ours);
  const theirs = seen.peer.map(({ cpuMs }) => (cpuMs * 1000) / examples.peer);
  const ratio = median(theirs.map((cost, round) => cost / (ours[round] ?? Number.NaN)));
  const text = `${what}: ${range(ours)}, the other's ${range(theirs)}; 1/${ratio.toFixed(1)} of its CPU`;
  if (examples.bar === null) console.log(`  ${text}`);
  else bars.report(`${text} (bar: 1/${examples.bar})`, ratio >= examples.bar);
}

async function benchPython(peer: Peer): Promise<void> {
  console.log("\ntasks/s of Python executors with a driver that does next to nothing");
  const sdk = { PYTHONPATH: join(import.meta.dirname, "../sdk/python/src") };
  for (const [kind, word] of [
    ["def", "plain"],
    ["async def", "async"],
  ] as const) {
    const ours = shop.write("ours_tasks.py", oursTasks.replace("def", kind));
    const theirs = shop.write("peer_tasks.py", peerTasks.replace("def", kind));
    for (const inFlight of [4, 32]) {
      const seen = await takeTurns({
        ours: () =>
          driveExecutor({ command: ["python3", "-m", "rollout_eval", ours], env: sdk, tasks: 20_000, inFlight }),
        peer: () => driveExecutor({ command: [peer.executor, theirs], tasks: 4000, inFlight }),
      });
      const ratio = median(seen.ours.map((rate, round) => rate / (seen.peer[round] ?? Number.NaN)));
      const text = `${word} functions, ${inFlight} in flight: ${range(seen.ours)} tasks/s, the other's ${range(seen.peer)}; ${ratio.toFixed(1)} x (bar: 5)`;
      bars.report(text, ratio >= 5);
    }
  }
}

async function benchMessages(): Promise<void> {
  console.log(
    "\nCPU of our orchestrator, µs per message sent or received, start-up taken off; the floor is a pipe with cat",
  );
  const inFlight = 32;
  const floorFile = join(import.meta.dirname, "experiments/floor.ts");
  for (const { label, bytes, evaluators, examples, bar } of [
    { label: "300 B, 20,000 examples", bytes: 100, evaluators: 2, examples: 20_000, bar: null },
    { label: "300 B, 200,000 examples", bytes: 100, evaluators: 2, examples: 200_000, bar: 6 },
    { label: "10 KB", bytes: 9700, evaluators: 0, examples: 10_000, bar: null },
    { label: "100 KB", bytes: 99_700, evaluators: 0, examples: 2000, bar: null },
  ]) {
    const perExample = 2 + 2 * evaluators;
    const floor = (messages: number) => () =>
      measureOwn({
        command: [process.execPath, floorFile, String(messages), String(bytes + 200), String(inFlight)],
        cwd: shop.dir,
      });
    const run = (count: number) => () => shop.runOurs({ examples: count, inFlight, bytes, evaluators });
    const messages = (examples - 100) * perExample;
    const seen = await takeTurns({ long: run(examples), short: run(100), floor: floor(messages), idle: floor(2) });
    const perMessage = (much: readonly OwnCost[], little: readonly OwnCost[]): number[] =>
      much.map(({ cpuMs }, round) => ((cpuMs - (little[round]?.cpuMs ?? Number.NaN)) * 1000) / messages);
    const [ours, pipe] = [perMessage(seen.long, seen.short), perMessage(seen.floor, seen.idle)];
    const text = `${label}: ${range(ours, 1)}, the floor ${range(pipe, 1)}; parsing and printing it again would take ${reprint(bytes).toFixed(1)}`;
    if (bar === null) console.log(`  ${text}`);
    else bars.report(`${text} (bar: ${bar})`, median(ours) <= bar);
  }
}

/** Microseconds for JSON of that size to be parsed and printed. */
function reprint(bytes: number): number {
  const text = JSON.stringify({
    run_id: "e1#1",
    output: { answer: "x".repeat(bytes) },
    metadata: { execution_time_ms: 1 },
  });
  const times = 2000;
  const from = performance.now();
  for (let n = 0; n < times; n++) JSON.stringify(JSON.parse(text));
  return ((performance.now() - from) * 1000) / times;
}

async function benchFirst(): Promise<void> {
  console.log("\nfrom the start of the process to the first line in runs.jsonl, Node executor");
  const empty = shop.write("empty.js", "");
  const seen = await takeTurns(
    {
      ours: () => shop.runOurs({ examples: 10, inFlight: 4 }),
      node: () => measureOwn({ command: [process.execPath, empty], cwd: shop.dir }),
    },
    Math.max(rounds, 7),
  );
  const first = seen.ours.map(({ firstMs }) => firstMs ?? Number.NaN);
  const node = median(seen.node.map(({ wallMs }) => wallMs));
  const text = `${median(first).toFixed(0)} ms (${range(first)}), ${(median(first) / node).toFixed(1)} x a Node that does nothing (${node.toFixed(0)} ms)`;
  bars.report(`${text} (bar: 300 ms)`, median(first) < 300);
}

async function benchMemory(): Promise<void> {
  console.log("\nthe most memory that our orchestrator had, Node executor, 32 in flight");
  const lengths = [10_000, 100_000, 1_000_000].filter((length) => length <= mostExamples);
  for (const more of [[], ["--phased"]]) {
    const peaks: number[] = [];
    for (const examples of lengths) {
      const { peakBytes, wallMs, cpuMs } = await shop.runOurs({ examples, inFlight: 32, more });
      peaks.push(peakBytes / 1e6);
      const speed = `${((examples / wallMs) * 1000).toFixed(0)} examples/s, ${((cpuMs * 1000) / examples).toFixed(0)} µs CPU each`;
      console.log(`  ${more.join("") || "plain"}, ${examples} examples: ${(peakBytes / 1e6).toFixed(0)} MB, ${speed}`);
    }
    const grown = (peaks.at(-1) ?? 0) - (peaks[0] ?? 0);
    const span = `from ${lengths[0]} to ${lengths.at(-1)} examples${more.length > 0 ? ", phased" : ""}`;
    bars.report(`${grown.toFixed(0)} MB more ${span} (bar: 50)`, grown < 50);
  }
}

/** Each in turn, forwards and backwards, as often as there are rounds. */
async function takeTurns<Name extends string, Seen>(
  contenders: Readonly<Record<Name, () => Promise<Seen>>>,
  times = rounds,
): Promise<Record<Name, Seen[]>> {
  const names = Object.keys(contenders) as Name[];
  const seen = Object.fromEntries(names.map((name) => [name, [] as Seen[]])) as Record<Name, Seen[]>;
  for (let round = 0; round < times; round++)
    for (const name of round % 2 === 0 ? names : names.toReversed()) seen[name].push(await contenders[name]());
  return seen;
}

function range(values: readonly number[], digits = 0): string {
  return `${Math.min(...values).toFixed(digits)} to ${Math.max(...values).toFixed(digits)}`;
}

function tellLoad(when: string): void {
  const loads = loadavg().map((load) => load.toFixed(1));
  console.log(`${when === "after" ? "\n" : ""}${cpus().length} cores, load ${loads.join(" ")} ${when}`);
}
