// What a trial costs on a Kubernetes cluster, interleaved with the bare calls of its API that none can do without (the
// floor): a Pod created, awaited by a watch, filled, used, read and deleted. "same" is the floor with as many calls as
// we make: files travel with the command that needs them. The cluster is that of KUBECONFIG, else one of our own.
// ROLLOUT_BENCH_ROUNDS sets how often the contenders take turns (3), ROLLOUT_BENCH_IN_FLIGHT how many trials run at
// once (1,8,32).
import { spawnSync } from "node:child_process";
import { mkdtempDisposableSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import type { ProviderModule } from "../src/environments/environment.ts";
import { kubernetesConfigSchema } from "../src/environments/kubernetes/kubernetes-config-schema.ts";
import { kubernetesProviderModule } from "../src/environments/kubernetes/kubernetes-provider.ts";
import { planResources } from "../src/environments/kubernetes/pods/plan-pod.ts";
import { testImage } from "../tests/kubernetes-rig/find-cluster.ts";
import { openBareCluster } from "./kubernetes/bare-cluster.ts";
import { openCluster } from "./kubernetes/open-cluster.ts";
import { Bars } from "./trials/bars.ts";
import { measure, median, rate, sumCosts, type Cost } from "./trials/measure.ts";
import { runTrials } from "./trials/run-trials.ts";
import { takeTurns, type Outcome } from "./trials/take-turns.ts";
import { writeTrivialTask } from "./trials/trivial-task.ts";

const rounds = Number(process.env["ROLLOUT_BENCH_ROUNDS"] ?? 3);
const numbersInFlight = (process.env["ROLLOUT_BENCH_IN_FLIGHT"] ?? "1,8,32").split(",").map(Number);
const timeBar = 1.2;
const bars = new Bars();
// Little is requested, so that a small node holds them all; the limits are those of the task.
const settings = { requests_ratio: 0.02, resources: { requests: { "ephemeral-storage": "64Mi" } } };
const taskLimits = { cpus: 1, memoryBytes: 2e9, storageBytes: 10e9 };

const given = process.env["KUBECONFIG"];
if (given) await bench(given);
else await benchOnOwnCluster();

// By another process: what a cluster takes is not what a trial costs, and its programs are children of who starts them.
async function benchOnOwnCluster(): Promise<void> {
  const cluster = await openCluster();
  if (typeof cluster === "string") throw new Error(cluster);
  await using _cluster = cluster;
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
  const { status } = spawnSync(process.execPath, [...process.execArgv, import.meta.filename], {
    stdio: "inherit",
    env,
  });
  process.exitCode = status ?? 1;
}

async function bench(kubeconfig: string): Promise<void> {
  using directory = mkdtempDisposableSync(join(tmpdir(), "rollout-bench-"));
  const root = directory.path;
  const taskDirectory = writeTrivialTask(join(root, "tasks"), testImage);
  const resources = planResources(taskLimits, kubernetesConfigSchema.parse(settings));
  const place = { kubeconfig, directory: join(root, "floor"), taskDirectory };
  using floor = await openBareCluster({ ...place, image: testImage, resources });
  const module: ProviderModule = {
    ...kubernetesProviderModule,
    open: (options) =>
      kubernetesProviderModule.open({ ...options, config: kubernetesConfigSchema.parse({ kubeconfig, ...settings }) }),
  };
  const runOurs = (name: string, trials: number, inFlight: number): Promise<Cost> =>
    runTrials({ root, name, environment: { type: "kubernetes", module }, trials, inFlight });
  console.log(`cluster: ${floor.description}; load ${loadavg()[0]?.toFixed(1)}`);
  await runOurs("warm-up", 2, 2);
  await floor.run(2, 2);
  for (const inFlight of numbersInFlight) {
    // Twice as many as run at once, so that some begin while others end.
    const trials = Math.max(8, inFlight * 2);
    const outcomes = await takeTurns({
      inFlight,
      rounds,
      trials,
      between: () => floor.awaitEmpty(),
      contenders: {
        floor: () => measure(trials, () => floor.run(trials, inFlight)),
        same: () => measure(trials, () => floor.run(trials, inFlight, true)),
        us: (_trials, round) => runOurs(`us-${inFlight}-${round}`, trials, inFlight),
      },
    });
    judge(inFlight, outcomes);
  }
  console.log(`load ${loadavg()[0]?.toFixed(1)}`);
  bars.print();
}

function judge(inFlight: number, outcomes: ReadonlyMap<string, Outcome>): void {
  const where = `at ${inFlight} in flight`;
  const { costs, processes } = outcomes.get("us") ?? { costs: [], processes: 0 };
  const timeOf = (name: string): number => {
    const other = outcomes.get(name)?.costs ?? [];
    return median(costs.map((cost, round) => (other[round] ? rate(other[round]) / rate(cost) : Infinity)));
  };
  const [time, sameTime] = [timeOf("floor"), timeOf("same")];
  bars.report(`${time.toFixed(2)} x the floor's time ${where} (bar: ${timeBar})`, time <= timeBar);
  bars.report(`${sameTime.toFixed(2)} x that of as many calls ${where} (bar: ${timeBar})`, sameTime <= timeBar);
  const { cpuMs, trials } = sumCosts(costs);
  bars.report(`${(cpuMs / trials).toFixed(1)} ms CPU per trial ${where} (bar: 80)`, cpuMs / trials <= 80);
  bars.report(`${processes} processes started ${where} (bar: 0)`, processes === 0);
}
