// What a trial costs on a cluster, interleaved with the same number of calls to it and nothing else (the floor). The
// cluster is that of KUBECONFIG; `npm run test:kubernetes -- --up` brings one up and prints it.
// ROLLOUT_BENCH_ROUNDS sets how often the contenders take turns (3).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openBareCluster } from "./kubernetes/bare-cluster.ts";
import { Bars } from "./trials/bars.ts";
import { measure, median, rate, sumCosts, type Cost } from "./trials/measure.ts";
import { runCommand } from "./trials/run-command.ts";
import { writeTrivialTask } from "./trials/trivial-task.ts";

const kubeconfig = process.env["KUBECONFIG"] ?? "";
const image = process.env["ROLLOUT_TEST_KUBERNETES_IMAGE"] ?? "docker.io/library/debian:bookworm-slim";
const rounds = Number(process.env["ROLLOUT_BENCH_ROUNDS"] ?? 3);
const root = mkdtempSync(join(tmpdir(), "rollout-bench-"));
const bars = new Bars();
try {
  if (kubeconfig === "")
    console.log("no cluster: KUBECONFIG names none; npm run test:kubernetes -- --up brings one up");
  else await bench();
} finally {
  rmSync(root, { recursive: true, force: true });
}

async function bench(): Promise<void> {
  writeTrivialTask(join(root, "tasks"), image);
  using bare = await openBareCluster(kubeconfig, image);
  const before = await bare.countExecs();
  await runOurs(2, 2, "warm-up");
  const execs = Math.round(((await bare.countExecs()) - before) / 2);
  console.log(`a trial starts ${execs} programs in its Pod`);
  for (const inFlight of [1, 8, 32]) {
    const trials = Math.max(4, inFlight * 2);
    const [ours, floor]: [Cost[], Cost[]] = [[], []];
    for (let round = 0; round < rounds; round++) {
      floor.push(await measure(trials, () => bare.run(trials, inFlight, execs)));
      ours.push(await runOurs(trials, inFlight, `at-${inFlight}-${round}`));
    }
    const times = median(floor.map((cost, round) => rate(cost) / rate(ours[round] ?? cost)));
    const total = sumCosts(ours);
    const each = (cost: Cost): string => `${(cost.wallMs / cost.trials).toFixed(0)} ms`;
    console.log(`\n${inFlight} in flight, ${rounds} rounds of ${trials} trials`);
    console.log(
      `  floor ${each(sumCosts(floor))} per trial, us ${each(total)}, ${(total.cpuMs / total.trials).toFixed(0)} ms of our CPU`,
    );
    bars.report(`at ${inFlight} in flight a trial takes ${times.toFixed(2)} x the floor (1.2)`, times <= 1.2);
  }
  bars.print();
}

function runOurs(trials: number, inFlight: number, name: string): Promise<Cost> {
  const environment = { type: "k8s", override_cpus: 1, provider_config: { requests_ratio: 0.02 } };
  return runCommand({ root, environment, trials, inFlight, name, env: { KUBECONFIG: kubeconfig } });
}
