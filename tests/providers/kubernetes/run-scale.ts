// Sends Pods through a provider, so many at once, each from its creation over a command to its removal. Argument: JSON
// with the config of the provider, how many Pods, and how many in flight. Prints what that took as one line of JSON.
import { readFileSync } from "node:fs";
import { openKubernetes } from "./open-kubernetes.ts";
import type { ScaleFigures, ScaleRequest } from "./measure-scale.ts";

const { config, pods, inFlight, holdSec } = JSON.parse(process.argv[2] ?? "") as ScaleRequest;
const signal = new AbortController().signal;
const limits = { cpus: 1, memoryBytes: 2e9, storageBytes: 10e9 };
const looks = 8;
const nothing = { write: async () => {} };
const provider = await openKubernetes({}, config);
const megabytes: number[] = [];
const counts = { next: 0, running: 0, ended: 0, mostInFlight: 0 };

await provider.probe(signal);
const startCpu = process.cpuUsage();
const startMs = performance.now();
const restingMegabytes = readMegabytes();
await Promise.all(Array.from({ length: inFlight }, runPods));
const seconds = (performance.now() - startMs) / 1000;
const { user, system } = process.cpuUsage(startCpu);
await provider[Symbol.asyncDispose]();
const peak = /^VmHWM:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
const figures: ScaleFigures = {
  pods: counts.ended,
  seconds,
  cpuMsPerPod: (user + system) / 1000 / pods,
  mostInFlight: counts.mostInFlight,
  restingMegabytes,
  megabytes,
  peakMegabytes: Number(peak ?? 0) / 1000,
};
console.log(JSON.stringify(figures));

async function runPods(): Promise<void> {
  for (let number = counts.next++; number < pods; number = counts.next++) {
    const request = { image: "none", name: `pod-${number}`, limits, place: [], labels: {}, signal };
    const environment = await provider.createEnvironment(request);
    counts.mostInFlight = Math.max(counts.mostInFlight, ++counts.running);
    const streams = { stdout: nothing, stderr: nothing };
    const command = ["sleep", String(holdSec)];
    const { exitCode } = await environment.exec({ command, env: {}, signal, ...streams });
    if (exitCode !== 0) throw new Error(`the command ended with ${exitCode}`);
    await environment.destroy(signal);
    counts.running--;
    if (++counts.ended % Math.ceil(pods / looks) === 0) megabytes.push(readMegabytes());
  }
}

function readMegabytes(): number {
  globalThis.gc?.();
  return process.memoryUsage.rss() / 1e6;
}
